"""The planner against its definitions written out, on generated worlds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from planner_oracle import AutomaticOracle, Oracle, PlanOracle
from planner_worlds import World, state_of, worlds

from sr_assets.planner import staleness as staleness_module
from sr_assets.planner.automation import rebuilt_by_itself
from sr_assets.planner.plan import Mode, Plan, Target, make_plan
from sr_assets.planner.staleness import Cause, staleness

EXAMPLES = settings(max_examples=300, deadline=None)


@EXAMPLES
@given(worlds())
def test_causes_are_those_of_the_definitions(world: World) -> None:
    stale, oracle = staleness(state_of(world)), Oracle(world)
    for name, table in world.items():
        for i in range(table.size):
            assert Cause(int(stale[name].causes[i])) == oracle.causes(name, i), (name, i)
            assert bool(stale[name].blocked[i]) == oracle.blocked(name, i), (name, i)


@EXAMPLES
@given(worlds())
def test_a_plan_builds_what_the_definitions_say(world: World) -> None:
    state, stale = state_of(world), staleness(state_of(world))
    for allow_missing in (False, True):
        plan = make_plan(state, Target(frozenset(world), allow_missing=allow_missing), stale)
        oracle = PlanOracle(world, allow_missing=allow_missing)
        for name, table in world.items():
            expected = [state[name].keys.key(i) for i in range(table.size) if oracle.chosen(name, i)]
            assert list(plan.of(name)) == expected, name


@EXAMPLES
@given(worlds())
def test_a_plan_is_ordered_cut_and_a_value(world: World) -> None:
    state = state_of(world)
    plan = make_plan(state, Target(frozenset(world), mode=Mode.ALL), staleness(state))
    position = {batch.asset: number for number, layer in enumerate(plan.layers) for batch in layer}
    for name, table in world.items():
        for edge in table.edges:
            if edge.upstream != name and {name, edge.upstream} <= position.keys():
                assert position[edge.upstream] < position[name]
    assert all(1 <= len(batch.keys) <= 2 for batch in plan.batches)
    assert Plan.from_json(plan.to_json()) == plan
    assert make_plan(state, Target(frozenset(world), mode=Mode.ALL), staleness(state)) == plan
    wanted = {(e.asset, key) for e in plan.excluded for key in e.keys}
    assert not wanted & {(b.asset, key) for b in plan.batches for key in b.keys}


@EXAMPLES
@given(worlds())
def test_what_rebuilds_itself_is_what_the_definitions_say(world: World) -> None:
    state, oracle = state_of(world), AutomaticOracle(world)
    soon = rebuilt_by_itself(state, staleness(state))
    for name, table in world.items():
        assert soon[name].tolist() == [oracle.soon(name, i) for i in range(table.size)], name


@EXAMPLES
@given(worlds())
def test_an_automatic_run_never_reads_what_will_be_rebuilt(world: World) -> None:
    state = state_of(world)
    for name in world:
        plan = make_plan(state, Target(frozenset({name}), automatic=True), staleness(state))
        oracle = AutomaticOracle(world)
        for key in plan.of(name):
            i = state[name].keys.index(key)
            for edge in world[name].edges:
                if edge.upstream != name and edge.invalidates:
                    assert not any(oracle.soon(edge.upstream, j) for j in edge.reads[i])


def test_a_broken_rule_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: Dagster's one-hop staleness does not pass the property above."""
    monkeypatch.setattr(
        staleness_module, "dirty_upstream", lambda spans, upstream: np.zeros(spans.size, dtype=bool)
    )
    with pytest.raises(AssertionError):
        test_causes_are_those_of_the_definitions()
