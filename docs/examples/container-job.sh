#!/bin/sh
# The job of a pull request in a plain container that may make no user namespaces: what is granted is read and
# changed where it is, and everything else is refused by Landlock. Which policy holds, the base branch says.
# Needs: BASE, the base branch; TEMP, a directory of the runner's outside of the checkout.
set -eu

git show "origin/$BASE:ci/endow.toml" >"$TEMP/endow.toml"

# No copy of the settings is shown at this level: a token in them would be, and endow would not start. Services leave
# one in a header or in the address of a remote. From here on nothing private can be fetched.
git config --local --name-only --get-regexp '^http\.(.*\.)?extraheader$' | sort -u | while read -r name; do
    git config --local --unset-all "$name"
done
git config --local --name-only --get-regexp '^remote\..*\.(push)?url$' | sort -u | while read -r name; do
    address=$(git config --local "$name" | sed -E 's#^(https?://)[^/]*@#\1#')
    git config --local --replace-all "$name" "$address"
done

# The branch may change its own endow.toml, which counts for nothing here: `--best-effort protect`.
endow run --policy "$TEMP/endow.toml" --require landlock --rw . --best-effort protect --timeout 20m --file-size 1G \
    --report "$TEMP/endow.json" --report "$TEMP/endow.xml" -- ./ci/build.sh
