#!/usr/bin/env python3
"""A tool in Python: what the columns of a CSV file hold."""
import csv
import json
import math
import sys

SCHEMA = {
    "name": "csv_summary",
    "description": "Summarise a CSV file: its columns, and of each the number of values, the distinct ones, and of numbers the range and mean.",
    "effect": "read",
    "parameters": {
        "file": {"type": "string", "description": "Path of the file.", "required": True},
        "delimiter": {"type": "string", "minLength": 1, "maxLength": 1, "default": ","},
    },
}


def number(text):
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None  # JSON has no NaN and no Infinity


def summary(file, delimiter):
    with open(file, newline="", encoding="utf-8-sig") as lines:
        reader = csv.DictReader(lines, delimiter=delimiter)
        columns = {name: [] for name in reader.fieldnames or []}
        rows = 0
        for row in reader:
            rows += 1
            for name in columns:
                if row[name] not in (None, ""):
                    columns[name].append(row[name])
            if rows % 100_000 == 0:
                print(json.dumps({"progress": rows, "unit": "rows"}), file=sys.stderr, flush=True)
    return {"rows": rows, "columns": {name: describe(values) for name, values in columns.items()}}


def describe(values):
    result = {"values": len(values), "distinct": len(set(values))}
    numbers = [number(value) for value in values]
    if numbers and None not in numbers:
        result.update(min=min(numbers), max=max(numbers), mean=sum(numbers) / len(numbers))
    return result


if sys.argv[1:] == ["--schema"]:
    print(json.dumps(SCHEMA))
else:
    try:
        # The input is UTF-8, whatever the system's encoding is.
        print(json.dumps({"success": True, "result": summary(**json.load(sys.stdin.buffer))}))
    except (OSError, ValueError, csv.Error) as error:
        print(json.dumps({"success": False, "error": str(error)}))
        sys.exit(1)
