"""Session and global variables: those that clients ask for when they connect, and those that work here."""

from __future__ import annotations

from collections.abc import Iterator

from mysql_mimic.variables import SYSTEM_VARIABLES, GlobalVariables, SessionVariables

from sr_assets.standin.config import StandInConfig
from sr_assets.standin.errors import ServerError

MYSQL_VERSION = "8.0.33"
"""What the handshake and `version()` say: StarRocks claims to be a MySQL of this version."""

_EXTRA: dict[str, tuple[type, object]] = {
    "query_timeout": (int, 300),
    "insert_timeout": (int, 14400),
    "insert_max_filter_ratio": (float, 0.0),
    "enable_insert_strict": (bool, True),
    "dynamic_overwrite": (bool, False),
    "tx_isolation": (str, "REPEATABLE-READ"),
    "transaction_isolation": (str, "REPEATABLE-READ"),
    "tx_visible_wait_timeout": (int, 10),
    "sql_safe_updates": (int, 0),
    "sql_mode": (str, "ONLY_FULL_GROUP_BY"),
    "pipeline_dop": (int, 0),
    "parallel_fragment_exec_instance_num": (int, 1),
    "resource_group": (str, ""),
    "warehouse": (str, "default_warehouse"),
    "catalog": (str, "default_catalog"),
    "query_mem_limit": (int, 0),
    "load_mem_limit": (int, 0),
    "exec_mem_limit": (int, 2147483648),
    "enable_profile": (bool, False),
    "enable_spill": (bool, False),
    "big_query_profile_threshold": (str, "0s"),
    "query_queue_pending_timeout_second": (int, 300),
    "enable_query_queue_load": (bool, False),
    "enable_sql_transaction": (bool, True),
    "auto_increment_offset": (int, 1),
    "query_cache_size": (int, 1048576),
    "query_cache_type": (int, 0),
    "foreign_key_checks": (bool, True),
    "unique_checks": (bool, True),
    "sql_warnings": (bool, False),
    "net_read_timeout": (int, 60),
    "statement_timeout": (int, 0),
    "character_set_connection": (str, "utf8mb4"),
    "group_concat_max_len": (int, 1024),
}


def server_variables(config: StandInConfig) -> GlobalVariables:
    """The variables of one server, with their defaults."""
    schema = dict(SYSTEM_VARIABLES)
    schema |= {name: (kind, default, True) for name, (kind, default) in _EXTRA.items()}
    schema["version"] = (str, MYSQL_VERSION, False)
    comment = f"StarRocks version {config.version} (sr-assets stand-in, not StarRocks)"
    schema["version_comment"] = (str, comment, False)
    return GlobalVariables(schema)


class Variables(SessionVariables):  # type: ignore[misc]
    """One session's variables. What a session did not set, it reads from the server's."""

    def get_variable(self, name: str) -> object:
        name = name.lower()
        return self._values[name] if name in self._values else self.global_variables.get_variable(name)

    def assign(self, name: str, value: str, *, everywhere: bool = False) -> None:
        """SET [GLOBAL] name = value. Raises ServerError for an unknown name or a bad value."""
        name = name.lower()
        if name not in self.schema:
            raise ServerError(f"Unknown system variable '{name}'", 1193)
        kind, default, _ = self.schema[name]
        target = self.global_variables if everywhere else self
        if value.upper() == "DEFAULT":
            target.set(name, default, force=True)
            return
        try:
            target.set(name, _to_bool(value) if kind is bool else kind(value), force=True)
        except ValueError as error:
            raise ServerError(f"Incorrect argument type to variable '{name}'", 1232) from error

    def overridden(self, values: dict[str, str]) -> dict[str, object]:
        """All values, with those of a SET_VAR hint on top."""
        scratch = Variables(self.global_variables)
        scratch._values.update(self._values)
        for name, value in values.items():
            scratch.assign(name, value)
        return dict(scratch.items())

    def pairs(self) -> Iterator[tuple[str, str]]:
        """As SHOW VARIABLES prints them."""
        for name, value in self.list():
            yield name, str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def _to_bool(value: str) -> bool:
    lowered = value.lower()
    if lowered not in ("1", "0", "true", "false", "on", "off"):
        raise ValueError(value)
    return lowered in ("1", "true", "on")
