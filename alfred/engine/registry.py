"""The nodes of all domains, found by their folders; a broken one takes no other down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from alfred.engine.manifest import KindSignature, Manifest
from alfred.engine.manifest_file import FILE_NAME, load_manifest
from alfred.engine.mistake import did_you_mean
from alfred.engine.sandbox import Filter
from alfred.errors import ManifestInvalid


@dataclass(frozen=True)
class Registry:
    """The nodes that can run, by name, and the reasons why others cannot."""

    manifests: Mapping[str, Manifest]
    problems: tuple[ManifestInvalid, ...] = ()

    @classmethod
    def load(
        cls,
        roots: Sequence[Path],
        kinds: Mapping[str, KindSignature],
        filters: Mapping[str, Filter] = MappingProxyType({}),
    ) -> Registry:
        """Load `[!_]*/node.yaml` below each folder of nodes.

        A name that an earlier root has taken is refused, whatever its domain, so that no package
        can replace another's node. Errors: none; they are in `problems`.
        """
        manifests: dict[str, Manifest] = {}
        taken: dict[str, Path] = {}
        problems: list[ManifestInvalid] = []
        for root in dict.fromkeys(roots):
            if not root.is_dir():
                problems.append(ManifestInvalid("manifest.missing", f"no nodes' folder at {root}."))
            for folder in _node_folders(root):
                name = folder.name
                if name in taken:
                    problems.append(_duplicate(folder, taken[name]))
                    continue
                taken[name] = folder
                try:
                    manifests[name] = load_manifest(folder, kinds, filters)
                except ManifestInvalid as problem:
                    problem.details["node"] = name
                    problems.append(problem)
        return cls(MappingProxyType(dict(sorted(manifests.items()))), tuple(problems))

    def get(self, name: str) -> Manifest:
        """Return a node's manifest.

        Errors: the node's own `ManifestInvalid` if its file is broken; `manifest.missing`, with
        the nearest name, if there is none.
        """
        if name in self.manifests:
            return self.manifests[name]
        for problem in self.problems:
            if problem.details.get("node") == name:
                raise problem
        raise ManifestInvalid(
            "manifest.missing", f"no node '{name}'.", hint=did_you_mean(name, self.manifests)
        )


def _node_folders(root: Path) -> list[Path]:
    found = (path.parent for path in root.glob(f"[!_]*/{FILE_NAME}"))
    return sorted(folder for folder in found if not folder.name.startswith("."))


def _duplicate(folder: Path, first: Path) -> ManifestInvalid:
    return ManifestInvalid(
        "manifest.invalid",
        f"{folder / FILE_NAME}: a node '{folder.name}' exists already at {first}.",
        hint="Rename one of the two folders, and the name in its node.yaml.",
    )
