"""Write the bill of materials of what is inside the package, src/weft/sbom.cdx.json, in CycloneDX 1.6.

    python tools/sbom.py            write the file
    python tools/sbom.py --check    fail if it does not match the files of the package

It lists the models with their files, hashes, training data and licences, and the minimal pairs. Libraries that weft
needs are not inside; pip reads their names from the metadata of the package.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from weft.corpora.data_licences import ENCODERS, DataLicence, licence_of, training_files
from weft.io.atomic_files import write_atomically
from weft.io.file_hash import sha256_of
from weft.io.model_folder import MANIFEST, read_manifest
from weft.io.package_files import PRETRAINED, PROBES
from weft.version import VERSION

PACKAGE = PRETRAINED.parent
BILL = PACKAGE / "sbom.cdx.json"
SPECIFICATION = "1.6"
OWN_LICENCE = "Apache-2.0"
Json = dict[str, Any]

# What the folders hold that the name of the model in their manifest does not say.
DESCRIPTIONS = {
    "genre": "classifier of the genre of a text",
    "glove": "word vectors of 60,497 words, a part of GloVe 6B (Pennington et al. 2014)",
    "parser": "English tagger and dependency parser for spaCy 3.8",
}
# The other folders hold weights of our own.
LICENCES = {"glove": "PDDL-1.0"}
GLOVE = DataLicence("", "GloVe 6B, 100 dimensions (Wikipedia 2014 and Gigaword 5)", "PDDL 1.0 (public domain)", True)
VENDORED = {"glove": (GLOVE,)}
PROBE_FILES = {
    "miniatures.jsonl": "the examples of Li & Jurafsky (2017), section 4.4",
    "probes.jsonl": "minimal pairs of weft",
}


def bill() -> Json:
    """Return the bill of materials; equal files give the same one, so it has no date and no random number."""
    folders = sorted(path.parent for path in PRETRAINED.rglob(MANIFEST))
    return {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPECIFICATION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "version": 1,
        "metadata": {"component": _package()},
        "components": [*map(_model, folders), *map(_probes, sorted(PROBES.glob("*.jsonl")))],
    }


def _package() -> Json:
    name = "weft-coherence"
    return {
        "type": "library", "bom-ref": name, "name": name, "version": VERSION, "licenses": _licences(OWN_LICENCE),
        "purl": f"pkg:pypi/{name}@{VERSION}",
    }  # fmt: skip


def _model(folder: Path) -> Json:
    manifest = read_manifest(folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        "type": "machine-learning-model",
        "bom-ref": folder.name,
        "name": folder.name,
        "version": manifest["sha256"][:12],
        "description": DESCRIPTIONS.get(folder.name, f"trained model, {manifest['model']}"),
        "licenses": _licences(LICENCES.get(folder.name, OWN_LICENCE)),
        "modelCard": {"modelParameters": {"datasets": list(_datasets(folder.name, manifest))}},
        "components": [_file(path) for path in files],
    }


def _file(path: Path) -> Json:
    name = path.relative_to(PACKAGE).as_posix()
    return {"type": "file", "bom-ref": name, "name": name, "hashes": [{"alg": "SHA-256", "content": sha256_of(path)}]}


def _probes(path: Path) -> Json:
    """Return a component for a file of minimal pairs; raise KeyError for one that `PROBE_FILES` does not describe."""
    return {**_file(path), "description": PROBE_FILES[path.name], "licenses": _licences(OWN_LICENCE)}


def _licences(identifier: str) -> list[Json]:
    return [{"license": {"id": identifier}}]


def _datasets(folder: str, manifest: Mapping[str, Any]) -> Iterator[Json]:
    """Yield the data that a model was made from, those of the models that it was built on too."""
    for vendored in VENDORED.get(folder, ()):
        yield _dataset(vendored.sources, vendored)
    if encoder := ENCODERS.get(str(manifest["config"].get("encoder", ""))):
        yield _dataset(encoder.sources, encoder)
    for name, digest in sorted(_files_read(manifest.get("training", {})).items()):
        yield _dataset(name, licence_of(name), digest)


def _files_read(training: Mapping[str, Any]) -> dict[str, str]:
    """Return the training files of a model and of the models that it was built on, with their hashes."""
    found = training_files(training.get("data") or {})
    for key in ("start", "base"):
        if isinstance(before := training.get(key), Mapping):
            found = {**_files_read(before["training"]), **found}
    return found


def _dataset(name: str, licence: DataLicence, digest: str = "") -> Json:
    facts = {"weft:licence": licence.licence, "weft:sha256": digest}
    return {
        "type": "dataset",
        "name": name,
        "description": licence.sources,
        "contents": {"properties": [{"name": key, "value": value} for key, value in facts.items() if value]},
    }


def main() -> int:
    """Write or check the file; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the file is out of date")
    checking = parser.parse_args().check
    text = json.dumps(bill(), indent=1, ensure_ascii=False) + "\n"
    same = BILL.is_file() and BILL.read_text(encoding="utf-8") == text
    if checking:
        print("up to date" if same else f"out of date: {BILL.name}; run python tools/sbom.py")
        return int(not same)
    with write_atomically(BILL) as file:
        file.write(text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
