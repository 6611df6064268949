#!/usr/bin/env bash
# A tool in Bash: the largest entries of a folder.
set -euo pipefail

if [[ ${1-} == --schema ]]; then
  # The pattern is checked before this script is called: a folder has no quote and no backslash, so that
  # Bash can read it out of the JSON, and print it into JSON again.
  cat <<'JSON'
{
  "name": "disk_usage",
  "description": "List the largest files and folders in a folder, in KiB.",
  "effect": "read",
  "parameters": {
    "folder": { "type": "string", "pattern": "^[^\"\\\\\\u0000-\\u001f]+$", "required": true },
    "count": { "type": "integer", "minimum": 1, "maximum": 100, "default": 10 }
  }
}
JSON
  exit
fi

fail() {
  printf '{"success":false,"error":"%s"}\n' "$1"
  exit 1
}

input=$(cat)
folder="" count=10
[[ $input =~ \"folder\":\"([^\"]*)\" ]] && folder=${BASH_REMATCH[1]}
[[ $input =~ \"count\":([0-9]+) ]] && count=${BASH_REMATCH[1]}
[[ -d $folder ]] || fail "There is no folder $folder."

sizes() {
  cd -- "$folder"
  for name in *; do
    [[ -e $name && $name != *[\"\\]* && $name != *[[:cntrl:]]* ]] || continue # JSON would need escapes
    printf '%s\t%s\n' "$(du -sk -- "$name" 2>/dev/null | cut -f 1)" "$name"
  done
}

entries=""
while IFS=$'\t' read -r size name; do
  entries+="${entries:+,}{\"name\":\"$name\",\"kib\":$size}"
done < <(sizes | sort -rn | head -n "$count")

printf '{"success":true,"result":{"folder":"%s","entries":[%s]}}\n' "$folder" "$entries"
