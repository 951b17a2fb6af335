"""`weft order`."""

from __future__ import annotations

import csv
import io
import json

from tests.helpers.command_line import SHUFFLED, ok


def test_order_restores_the_years() -> None:
    text = ok("order", SHUFFLED, "--input", "lines", "--model", "year-sort")
    assert "born" in text.splitlines()[0]
    assert "died" in text.splitlines()[-1]


def test_order_as_json_and_csv() -> None:
    record = json.loads(ok("order", SHUFFLED, "-i", "lines", "-f", "json"))
    assert sorted(record["order"]) == list(range(6))
    assert record["search"] == "exact"
    assert record["value"] >= record["input_value"]
    rows = list(csv.DictReader(io.StringIO(ok("order", SHUFFLED, "-i", "lines", "-f", "csv"))))
    assert [int(row["was"]) for row in rows] == record["order"]
    first = json.loads(ok("order", SHUFFLED, "-i", "lines", "-f", "json", "--first-given"))
    assert first["order"][0] == 0
