"""Stream Load: rows sent by the client over HTTP, committed in one request.

The FE answers the PUT with a redirect (307) to a backend. The client sends an empty body there first and the
rows to the backend only, with the same user: ordinary HTTP clients drop the Authorization header at such a
redirect, and would send the rows twice. Source: STREAM_LOAD.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote, urlsplit

import httpx

from sr_assets.errors import ConnectFailed, DeclarationError, StarRocksError
from sr_assets.starrocks.labels import LabelUsed, LoadResult, is_label_conflict
from sr_assets.starrocks.quoting import TableName
from sr_assets.starrocks.session import HttpEndpoint
from sr_assets.starrocks.transient import is_transient

CONNECT_TIMEOUT = 10.0


def stream_load(
    endpoint: HttpEndpoint,
    *,
    table: str,
    data: bytes | Iterable[bytes],
    label: str,
    format: Literal["csv", "json"] = "csv",
    columns: Sequence[str] = (),
    partitions: Sequence[str] = (),
    temporary_partitions: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
    timeout: int = 600,
) -> LoadResult:
    """Appends rows to a table.

    `columns` are names, or `name = expression`, as the header of that name takes them; `headers` are further
    ones, such as `column_separator`, `skip_header`, `strip_outer_array`, `max_filter_ratio`. `timeout` is in
    seconds, for StarRocks and for the wait here. The result has visible=False where StarRocks committed the
    rows but could not publish them in time (`Publish Timeout`): they must not be sent again.
    Raises LabelUsed if a load under the label runs or has finished, ConnectFailed if nobody answers, and
    StarRocksError for a refusal; a transient one may have been carried out: ask for the label.
    """
    name = TableName.parse(table)
    url = f"{endpoint.url}/api/{quote(name.database)}/{quote(name.table)}/_stream_load"
    sent = _headers(label, format, columns, partitions, temporary_partitions, headers or {}, timeout)
    answer = _put(endpoint, url, sent, b"", timeout)
    if answer.is_redirect:
        target = _backend(answer.headers.get("Location", ""), endpoint)
        answer = _put(endpoint, target, sent, data, timeout)
    elif answer.is_success and not _answer(answer):
        raise StarRocksError(f"{endpoint.url} did not redirect a Stream Load: is it an FE's HTTP port?")
    return _result(answer, label)


def _headers(
    label: str,
    format: str,
    columns: Sequence[str],
    partitions: Sequence[str],
    temporary_partitions: Sequence[str],
    further: Mapping[str, str],
    timeout: int,
) -> dict[str, str]:
    headers = {"Expect": "100-continue", "label": label, "format": format, "timeout": str(timeout)}
    for key, names in (
        ("columns", columns),
        ("partitions", partitions),
        ("temporary_partitions", temporary_partitions),
    ):
        if names:
            headers[key] = ", ".join(names)
    headers |= further
    for key, value in headers.items():
        if "\n" in value or "\r" in value:
            raise DeclarationError(
                f"Stream Load header {key!r} holds a line break", hint=r"Write it as \n or \x0A."
            )
    return headers


def _put(
    endpoint: HttpEndpoint, url: str, headers: Mapping[str, str], body: bytes | Iterable[bytes], timeout: int
) -> httpx.Response:
    try:
        return httpx.put(
            url,
            headers={key.encode(): value.encode() for key, value in headers.items()},
            content=body,
            auth=httpx.BasicAuth(endpoint.user, endpoint.password),
            timeout=httpx.Timeout(timeout + CONNECT_TIMEOUT, connect=CONNECT_TIMEOUT),
            follow_redirects=False,
            trust_env=False,  # no proxy and no .netrc: rows and password go to StarRocks only
            verify=url.startswith("https:"),  # making a TLS context costs more than a small load
        )
    except httpx.ConnectError as error:
        raise ConnectFailed(
            f"No connection to {_host(url)}: {error}",
            transient=True,
            hint="Check that StarRocks' HTTP port (FE 8030, BE 8040 by default) is reachable from here.",
        ) from error
    except httpx.TransportError as error:
        raise StarRocksError(
            f"The connection to {_host(url)} was lost during a Stream Load: {error or type(error).__name__}",
            transient=True,
            hint="The rows may have been loaded: the label tells.",
        ) from error


def _backend(location: str, endpoint: HttpEndpoint) -> str:
    """The redirect's address, without user and password. Refuses hosts that are not of this cluster."""
    target = urlsplit(location)
    known = endpoint.known_hosts | {urlsplit(endpoint.url).hostname}
    if target.scheme not in {"http", "https"} or target.hostname not in known:
        where = target.hostname or repr(location)
        raise StarRocksError(
            f"{endpoint.url} redirects the load to {where}, which is not a known host",
            hint="Neither password nor rows were sent there. Add it to the known hosts if it is a backend.",
        )
    host = f"[{target.hostname}]" if ":" in (target.hostname or "") else target.hostname
    address = f"{host}:{target.port}" if target.port else host
    return target._replace(netloc=address or "").geturl()


def _answer(response: httpx.Response) -> dict[str, Any]:
    try:
        answer = response.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        return {}
    return answer if isinstance(answer, dict) and "Status" in answer else {}


def _result(response: httpx.Response, label: str) -> LoadResult:
    answer = _answer(response)
    status, message = str(answer.get("Status", "")), str(answer.get("Message", ""))
    if status in {"Success", "OK", "Publish Timeout"}:
        return LoadResult(
            label,
            rows=int(answer.get("NumberLoadedRows") or 0),
            filtered=int(answer.get("NumberFilteredRows") or 0),
            visible=status != "Publish Timeout",
        )
    if status == "Label Already Exists" or is_label_conflict(message):
        state = answer.get("ExistingJobStatus")
        raise LabelUsed(
            f"Label {label} is used by another load" + (f", which is {str(state).lower()}" if state else "")
        )
    if response.status_code in {401, 403} or "access denied" in message.lower():
        raise ConnectFailed(
            f"Access denied at {_host(str(response.url))}", hint="Check user and password of the connection."
        )
    rows = str(answer.get("ErrorURL") or "")
    raise StarRocksError(
        f"Stream Load {label} failed: {message or f'HTTP {response.status_code} {response.text[:500]}'}",
        transient=is_transient(-1, message) or response.status_code in {502, 503, 504},
        hint=f"Refused rows: {rows}" if rows else None,
    )


def _host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
