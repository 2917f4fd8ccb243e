# One node of Prepaint: Debian's Chromium with its sandbox, PostgreSQL outside (DATABASE_URL).

# The npm package with its dependencies, but for Node, PostgreSQL and Chromium from npm. What builds it is not in the image.
FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY . .
RUN npm ci --ignore-scripts \
 && npm pack \
 && mkdir --parents /app/dashboard \
 && tar --extract --file prepaint-*.tgz --directory /app --strip-components=1 \
 && cp package-lock.json /app && cp dashboard/package.json /app/dashboard \
 && cd /app \
 && npm ci --omit=dev --omit=optional --ignore-scripts \
 && rm -r node_modules/@sparticuz node_modules/prepaint-dashboard dashboard package-lock.json

FROM node:24-bookworm-slim

LABEL org.opencontainers.image.title="Prepaint" \
      org.opencontainers.image.description="Self-hosted pre-render service: people get the site, crawlers get finished HTML" \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.licenses="MIT"

RUN apt-get update \
 && apt-get install --yes --no-install-recommends chromium-headless-shell ca-certificates tini \
 && apt-get clean && rm -rf /var/lib/apt/lists/* \
 # Mesa's drivers, 180 MB: the headless shell draws by itself.
 && rm -rf /usr/lib/*/dri /usr/lib/*/libLLVM* /usr/lib/*/libz3* /usr/lib/chromium/libVkLayer* \
 && mkdir --mode=0711 --parents /var/lib/prepaint && chown node:node /var/lib/prepaint

COPY --from=build /app /app

ENV PREPAINT_DATA_DIR=/var/lib/prepaint PREPAINT_API_HOST=0.0.0.0 PREPAINT_EDGE_HOST=0.0.0.0
VOLUME /var/lib/prepaint
USER node
EXPOSE 3000 8080 8443
HEALTHCHECK --start-period=20s CMD ["node", "--eval", "fetch('http://127.0.0.1:3000/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--", "node", "/app/dist/bin/prepaint.js"]
CMD ["serve"]
