"""Split files of texts by the licence of their sources, so that a model can be trained on open texts alone.

    python tools/split_by_licence.py genres/train.*.jsonl.xz --licences genres/licences.tsv --out genres-by-licence

The table has one line per source: what the key `source` of a text begins with, a class and the licence. If several
lines fit, the longest beginning counts. Texts of the classes open and mixed go to `NAME.open.jsonl.xz`, all others
to `NAME.restricted.jsonl.xz`. A reader with the mixture `all` learns from both files of a store, one with the mixture
`open` from the first.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from weft.corpora.store.window_batches import OPEN, RESTRICTED
from weft.errors import CorpusError, WeftError
from weft.io.atomic_files import write_atomically
from weft.io.compressed_streams import open_bytes

OPEN_CLASSES = ("open", "mixed")


def read_classes(path: Path) -> dict[str, str]:
    """Return the class of each source by what its name begins with.

    Raises:
        CorpusError: A line does not have three columns.
    """
    classes = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()[1:], 2):
        columns = line.split("\t")
        if len(columns) != 3:
            raise CorpusError(
                f"{path}, line {number}: not a line of the table of licences",
                seen=line,
                allowed="beginning of a source, class and licence, separated by tabs",
                next_step="correct the line",
            )
        classes[columns[0]] = columns[1]
    return classes


def class_of(source: str, classes: Mapping[str, str]) -> str:
    """Return the class of a source, or `unknown`.

    Example:
        >>> class_of("openstax/physics", {"openstax": "non-commercial", "openstax/physics": "open"})
        'open'
    """
    fitting = [beginning for beginning in classes if source.startswith(beginning)]
    return classes[max(fitting, key=len)] if fitting else "unknown"


def split(path: Path, classes: Mapping[str, str], out: Path) -> Counter[str]:
    """Write the two parts of a file, an empty one not; return the number of texts of each class."""
    counts: Counter[str] = Counter()
    name = path.name.partition(".jsonl")[0]
    parts: dict[str, list[bytes]] = {OPEN: [], RESTRICTED: []}
    with open_bytes(path) as lines:
        for line in lines:
            kind = class_of(str(json.loads(line).get("source", "")), classes)
            counts[kind] += 1
            parts[OPEN if kind in OPEN_CLASSES else RESTRICTED].append(line)
    for part, texts in parts.items():
        if texts:
            with ExitStack() as stack:
                file = stack.enter_context(write_atomically(out / f"{name}.{part}.jsonl.xz"))
                stack.enter_context(lzma.open(file, "wb")).writelines(texts)
    return counts


def main() -> int:
    """Split the files and print the number of texts of each class."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", help="JSON lines, compressed or not, with the key source")
    parser.add_argument("--licences", type=Path, required=True, help="table of licences")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        classes = read_classes(options.licences)
        for path in options.files:
            counts = split(path, classes, options.out)
            print(f"{path.name}: {', '.join(f'{count} {kind}' for kind, count in counts.most_common())}", flush=True)
    except WeftError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
