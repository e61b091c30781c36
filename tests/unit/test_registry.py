from __future__ import annotations

from pathlib import Path

import pytest

from alfred.engine.registry import Registry
from alfred.errors import ManifestInvalid


def write_node(root: Path, name: str, text: str = "", domain: str = "notes") -> None:
    folder = root / name
    folder.mkdir(parents=True)
    node = (
        f"name: {name}\ndomain: {domain}\nversion: 1\ndescription: A node\n"
        "prompt: {system: Read., user: '{{ input.text }}'}\noutput_schema: {type: object}\n"
    )
    (folder / "node.yaml").write_text(node + text, encoding="utf-8")


def test_nodes_are_found_in_all_roots_and_sorted_by_name(tmp_path: Path) -> None:
    write_node(tmp_path / "b", "zebra")
    write_node(tmp_path / "b", "apple")
    write_node(tmp_path / "a", "melon")
    registry = Registry.load([tmp_path / "b", tmp_path / "a"], {})
    assert list(registry.manifests) == ["apple", "melon", "zebra"]
    assert registry.problems == ()
    assert registry.get("melon").description == "A node"


def test_a_broken_node_takes_no_other_down(tmp_path: Path) -> None:
    write_node(tmp_path, "good")
    write_node(tmp_path, "broken", "colour: red\n")
    (tmp_path / "garbled").mkdir()
    (tmp_path / "garbled" / "node.yaml").write_bytes(b"\xff\xfe\x00")
    registry = Registry.load([tmp_path], {})
    assert list(registry.manifests) == ["good"]
    assert [problem.code for problem in registry.problems] == [
        "manifest.invalid",
        "manifest.unreadable",
    ]


def test_asking_for_a_broken_node_tells_what_is_wrong_with_it(tmp_path: Path) -> None:
    write_node(tmp_path, "broken", "colour: red\n")
    registry = Registry.load([tmp_path], {})
    with pytest.raises(ManifestInvalid, match="colour: unknown field"):
        registry.get("broken")


def test_asking_for_an_unknown_node_suggests_the_nearest(tmp_path: Path) -> None:
    write_node(tmp_path, "read_note")
    registry = Registry.load([tmp_path], {})
    with pytest.raises(ManifestInvalid) as caught:
        registry.get("raed_note")
    assert caught.value.code == "manifest.missing"
    assert "Did you mean 'read_note'?" in str(caught.value)


def test_a_name_is_taken_once_across_domains_and_the_first_root_keeps_it(tmp_path: Path) -> None:
    write_node(tmp_path / "own", "read_note", domain="notes")
    write_node(tmp_path / "other", "read_note", domain="letters")
    registry = Registry.load([tmp_path / "own", tmp_path / "other"], {})
    assert registry.get("read_note").domain == "notes"
    assert len(registry.problems) == 1
    assert "exists already" in str(registry.problems[0])


def test_a_broken_node_keeps_its_name(tmp_path: Path) -> None:
    write_node(tmp_path / "own", "read_note", "colour: red\n")
    write_node(tmp_path / "other", "read_note")
    registry = Registry.load([tmp_path / "own", tmp_path / "other"], {})
    assert not registry.manifests
    assert len(registry.problems) == 2


def test_the_same_root_given_twice_counts_once(tmp_path: Path) -> None:
    write_node(tmp_path, "read_note")
    assert Registry.load([tmp_path, tmp_path], {}).problems == ()


def test_private_and_hidden_folders_and_those_without_a_file_are_no_nodes(tmp_path: Path) -> None:
    write_node(tmp_path, "_draft", "colour: red\n")
    write_node(tmp_path, ".hidden", "colour: red\n")
    (tmp_path / "empty").mkdir()
    registry = Registry.load([tmp_path], {})
    assert not registry.manifests
    assert registry.problems == ()


def test_a_root_that_does_not_exist_is_a_problem(tmp_path: Path) -> None:
    write_node(tmp_path / "here", "read_note")
    registry = Registry.load([tmp_path / "gone", tmp_path / "here"], {})
    assert list(registry.manifests) == ["read_note"]
    assert registry.problems[0].code == "manifest.missing"
