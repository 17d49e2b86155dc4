"""Plans and rules that make no sense are refused when they are made, not in the job."""

import json

import pytest

from synctax.record import DelayRule, Plan
from synctax.record.names import PLAN_SCHEMA


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"law": "gauss"}, "law is fixed or uniform or exponential, not 'gauss'"),
        ({"how": "busy"}, "how is sleep or spin, not 'busy'"),
        ({"side": "cpu"}, "side is host or gpu, not 'cpu'"),
        ({"pick": 1.5}, "pick is a whole number, not 1.5"),
        ({"seed": 1.5}, "seed is a whole number, not 1.5"),
        ({"rank": "1"}, "rank is a whole number, not '1'"),
        ({"end_step": 2.5}, "end_step is a whole number, not 2.5"),
        ({"nth": 0}, r"nth is a tuple such as \(0,\), not 0"),
        ({"nth": (0, "1")}, "nth is a whole number, not '1'"),
    ],
)
def test_a_rule_of_wrong_values_is_a_wrong_call(keys, words):
    with pytest.raises(ValueError, match=words):
        DelayRule(**{"operator": "aten::mm", "us": 1.0} | keys)


@pytest.mark.parametrize("name", ["skip", "warmup", "steps"])
@pytest.mark.parametrize("value", ["3", 1.5, None])
def test_steps_are_whole_numbers(name, value):
    with pytest.raises(ValueError, match=f"{name} is a whole number, not {value!r}"):
        Plan("traces", **{name: value})


def test_a_plan_names_its_kind_first_and_another_kind_is_refused():
    text = Plan("traces").to_json()
    assert text.startswith(f'{{"schema": "{PLAN_SCHEMA}"')
    for other in ("synctax.plan/2", None):
        keys = json.loads(text) | {"schema": other}
        with pytest.raises(ValueError, match=f"no plan of the kind {PLAN_SCHEMA}"):
            Plan.from_json(json.dumps(keys))
