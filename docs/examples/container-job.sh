#!/bin/sh
# The job of a pull request in a plain container that may make no user namespaces: what is granted is read and
# changed where it is, and everything else is refused by Landlock. Which policy holds, the base branch says.
# Needs: BASE, the base branch; TEMP, a directory of the runner's outside of the checkout.
set -eu

# No copy of the settings is shown at this level: a token in them would be, and endow would not start.
git config --local --get-regexp '^http\..*\.extraheader$' | while read -r name _; do
    git config --local --unset-all "$name"
done

git show "origin/$BASE:ci/endow.toml" >"$TEMP/endow.toml"
# The branch may change its own endow.toml, which counts for nothing here: `--best-effort protect`.
endow run --policy "$TEMP/endow.toml" --require landlock --rw . --best-effort protect --timeout 20m --file-size 1G \
    --report "$TEMP/endow.json" --report "$TEMP/endow.xml" -- ./ci/build.sh
