"""Move the values per document of old results into a compressed file beside each.

    python paper/split_results.py results

It changes no value: every result is read again after it was written and compared with what it was.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from weft.evaluation.result import DOCUMENTS_SHA256, Result
from weft.evaluation.tasks import is_result_folder


def split_results(folder: Path) -> int:
    """Split all results below a folder that are still in one file, and return how many there were."""
    count = 0
    for path in sorted(folder.glob("*/*.json")):
        if not is_result_folder(path.parent.name) or DOCUMENTS_SHA256 in json.loads(path.read_text(encoding="utf-8")):
            continue
        before = Result.load(path)
        before.write(path)
        if json.dumps(asdict(Result.load(path))) != json.dumps(asdict(before)):
            raise SystemExit(f"{path} is not what it was")
        count += 1
    return count


if __name__ == "__main__":
    print(f"split {split_results(Path(sys.argv[1]))} results")
