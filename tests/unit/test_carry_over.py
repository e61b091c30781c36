from __future__ import annotations

from typing import Any

import pytest

from alfred.engine.action import Action, reference
from alfred.engine.carry_over import Item, carry_over, pair_actions
from alfred.engine.correction import ShownAction

IDS = {
    name: f"00000000-0000-4000-8000-{number:012}"
    for number, name in enumerate(("a", "b", "c", "A", "B", "C"))
}


def ref(name: str) -> dict[str, str]:
    return reference(IDS[name])


def item(name: str, kind: str, /, **args: Any) -> Item:
    return Item(id=IDS[name], node="n", kind=kind, args=args)


def action(name: str, kind: str, /, *missing: str, **args: Any) -> Action:
    return {
        "id": IDS[name],
        "node": "n",
        "kind": kind,
        "args": args,
        "origins": {},
        "evidence": {},
        "missing": list(missing),
    }


def shown(
    name: str, kind: str, args: dict[str, Any], *, rejected: bool = False, **proposed: Any
) -> ShownAction:
    return {
        "id": IDS[name],
        "number": 1,
        "node": "n",
        "kind": kind,
        "is_rejected": rejected,
        "is_needed": False,
        "args": args,
        "proposed": proposed or args,
    }


def carried(
    old: list[ShownAction], new: list[Action], *discarded: str, restored: str = ""
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the arguments of the new actions and which of them are rejected."""
    found = carry_over(
        old,
        new,
        discarded={IDS[name] for name in discarded},
        restored={IDS[name] for name in restored},
    )
    names = {value: name for name, value in IDS.items()}
    return [each["args"] for each in found.actions], sorted(names[each] for each in found.rejected)


def test_equal_actions_are_paired_before_those_in_the_same_place() -> None:
    old = [item("a", "remind", day=1), item("b", "remind", day=2), item("c", "remind", day=3)]
    new = [item("A", "remind", day=2), item("B", "remind", day=9)]
    assert pair_actions(old, new) == {IDS["A"]: IDS["b"], IDS["B"]: IDS["a"]}


def test_what_refers_to_a_changed_action_is_still_paired_with_itself() -> None:
    old = [item("a", "make", name="x"), item("b", "link", to=ref("a"), text="1")]
    old.append(item("c", "link", to=ref("a"), text="2"))
    new = [item("A", "make", name="y"), item("C", "link", to=ref("A"), text="2")]
    assert pair_actions(old, new) == {IDS["A"]: IDS["a"], IDS["C"]: IDS["c"]}


@pytest.mark.parametrize(
    ("now", "held"),
    [
        ({"title": "t", "place": "p"}, {"title": "edited", "place": "p"}),
        ({"title": "t", "place": "q"}, {"title": "edited", "place": "q"}),
        ({"title": "new", "place": "p"}, {"title": "new", "place": "p"}),
    ],
)
def test_an_edit_holds_unless_the_node_now_says_something_else_of_that_value(
    now: dict[str, Any], held: dict[str, Any]
) -> None:
    old = [shown("a", "make", {"title": "edited", "place": "p"}, title="t", place="p")]
    assert carried(old, [action("A", "make", **now)])[0] == [held]


def test_a_filled_value_stays_filled_and_a_cleared_one_cleared() -> None:
    old = [shown("a", "make", {"name": "filled"}, place="p")]
    found = carry_over(
        old, [action("A", "make", "name", place="p")], discarded=set(), restored=set()
    )
    assert found.actions[0]["args"] == {"name": "filled"}
    assert found.actions[0]["missing"] == []
    assert found.actions[0]["evidence"]["name"]["support"] == "edited"


def test_an_edited_reference_names_the_new_counterpart() -> None:
    old = [shown("a", "make", {"name": "x"}), shown("b", "make", {"name": "y"})]
    old.append(shown("c", "link", {"to": ref("b")}, to=ref("a")))
    new = [action("A", "make", name="x"), action("B", "make", name="y")]
    new.append(action("C", "link", to=ref("A")))
    assert carried(old, new)[0][2] == {"to": ref("B")}


def test_a_rejection_holds_for_what_says_the_same_whatever_it_refers_to() -> None:
    old = [shown("a", "make", {"name": "x"}), shown("b", "link", {"to": ref("a")}, rejected=True)]
    new = [action("A", "make", name="y"), action("B", "link", to=ref("A"))]
    assert carried(old, new)[1] == ["B"]
    assert carried(old, new, restored="b")[1] == []


def test_a_rejection_of_something_else_does_not_hold_and_a_discarded_place_does() -> None:
    old = [shown("a", "remind", {"day": 1}, rejected=True), shown("b", "remind", {"day": 2})]
    new = [action("A", "remind", day=8), action("B", "remind", day=9)]
    assert carried(old, new)[1] == []
    assert carried(old, new, "b")[1] == ["B"]
