# One node of Prepaint: Debian's Chromium with its sandbox, PostgreSQL outside (DATABASE_URL).

# The npm package with its dependencies, but for Node, PostgreSQL and Chromium from npm. What builds it is not in the image.
FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY . .
RUN npm ci --ignore-scripts \
 && npm pack \
 && mkdir /app \
 && tar --extract --file prepaint-*.tgz --directory /app --strip-components=1 \
 && cp --parents package-lock.json dashboard/package.json packages/*/package.json /app \
 && cd /app \
 && npm ci --omit=dev --omit=optional --ignore-scripts \
 && rm -r node_modules/@sparticuz node_modules/@prepaint node_modules/prepaint-dashboard dashboard packages package-lock.json

FROM debian:bookworm-slim

LABEL org.opencontainers.image.title="Prepaint" \
      org.opencontainers.image.description="Self-hosted pre-render service: people get the site, crawlers get finished HTML" \
      org.opencontainers.image.version="0.3.0" \
      org.opencontainers.image.licenses="MIT"

RUN apt-get update \
 && apt-get install --yes --no-install-recommends chromium-headless-shell ca-certificates libstdc++6 tini \
 && apt-get clean && rm -rf /var/lib/apt/lists/* \
 # 260 MB for drawing with a graphics card and for desktops: the headless shell draws by itself.
 && dpkg-query --show --showformat='${Package}\n' \
  | grep --extended-regexp '^(libgl1-mesa-dri|libllvm[0-9]+|libz3-4|libxml2|libicu[0-9]+|perl|perl-modules-.*|libperl5.*)$' \
  | xargs dpkg --purge --force-depends \
 && useradd --uid 1000 --home-dir /var/lib/prepaint prepaint \
 && install --directory --mode=0711 --owner=prepaint --group=prepaint /var/lib/prepaint

# Node without npm.
COPY --from=build /usr/local/LICENSE /usr/local/LICENSE
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /app /app

ENV PREPAINT_DATA_DIR=/var/lib/prepaint PREPAINT_API_HOST=0.0.0.0 PREPAINT_EDGE_HOST=0.0.0.0
VOLUME /var/lib/prepaint
USER prepaint
EXPOSE 3000 8080 8443
HEALTHCHECK --start-period=20s CMD ["node", "--eval", "fetch('http://127.0.0.1:3000/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--", "node", "--max-semi-space-size=16", "/app/dist/bin/prepaint.js"]
CMD ["serve"]
