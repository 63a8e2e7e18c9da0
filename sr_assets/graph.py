"""The asset graph: which asset reads which, in topological order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import networkx as nx

from sr_assets.compile import Node, near
from sr_assets.errors import SelectionError


class AssetGraph:
    """Nodes by name, and the edges between different assets. Reading oneself is no edge here."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self.nodes = dict(sorted(nodes.items()))
        self._graph: nx.DiGraph[str] = nx.DiGraph()
        self._graph.add_nodes_from(self.nodes)
        for node in self.nodes.values():
            self._graph.add_edges_from((up, node.name) for up in node.upstreams if up != node.name)

    def __getitem__(self, name: str) -> Node:
        try:
            return self.nodes[name]
        except KeyError:
            raise SelectionError(f"no asset is named {name!r}{near(name, self.nodes)}") from None

    @cached_property
    def order(self) -> tuple[str, ...]:
        """All names, every asset after those it reads; the same for the same graph."""
        return tuple(nx.lexicographical_topological_sort(self._graph))

    @cached_property
    def generations(self) -> tuple[tuple[str, ...], ...]:
        """Names in layers: an asset stands in the first layer after all it reads."""
        return tuple(tuple(sorted(layer)) for layer in nx.topological_generations(self._graph))

    def upstream(self, name: str) -> tuple[str, ...]:
        """The assets that `name` reads, without itself."""
        return tuple(sorted(self._graph.predecessors(name)))

    def downstream(self, name: str) -> tuple[str, ...]:
        """The assets that read `name`, without itself."""
        return tuple(sorted(self._graph.successors(name)))

    def reach(self, names: Iterable[str], *, up: int | None = 0, down: int | None = 0) -> set[str]:
        """`names` with what they read (`up` steps) and what reads them (`down` steps); None is without end."""
        found = set(names)
        for steps, neighbours in ((up, self._graph.predecessors), (down, self._graph.successors)):
            layer, seen = set(names), set(names)
            while layer and (steps is None or steps > 0):
                layer = {other for name in layer for other in neighbours(name)} - seen
                seen |= layer
                steps = None if steps is None else steps - 1
            found |= seen
        return found


def find_cycles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Groups of assets that read each other in a circle, each in reading order. `edges`: name → upstreams."""
    graph: nx.DiGraph[str] = nx.DiGraph(
        (up, name) for name, ups in edges.items() for up in ups if up != name and up in edges
    )
    circles = []
    for group in nx.strongly_connected_components(graph):
        if len(group) > 1:
            circle = [edge[0] for edge in nx.find_cycle(graph.subgraph(group), source=min(group))]
            circles.append([*circle, *sorted(group - set(circle))])
    return sorted(circles)
