# One node of Prepaint: Debian's Chromium with its sandbox, PostgreSQL outside (DATABASE_URL).

# The dashboard is built apart: what builds it is not in the image.
FROM node:24-bookworm-slim AS dashboard
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY dashboard/package.json dashboard/
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build

FROM node:24-bookworm-slim

RUN apt-get update \
 && apt-get install --yes --no-install-recommends chromium-headless-shell ca-certificates tini \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY dashboard/package.json dashboard/
# The optional packages are Node, PostgreSQL and Chromium for bare machines: this image has its own.
RUN npm ci --omit=dev --omit=optional --ignore-scripts
COPY . .
COPY --from=dashboard /app/dashboard/dist dashboard/dist

ENV PREPAINT_DATA_DIR=/var/lib/prepaint PREPAINT_API_HOST=0.0.0.0 PREPAINT_EDGE_HOST=0.0.0.0
RUN mkdir --mode=0711 --parents /var/lib/prepaint && chown node:node /var/lib/prepaint
VOLUME /var/lib/prepaint
USER node
EXPOSE 3000 8080 8443
HEALTHCHECK --start-period=20s CMD ["node", "--eval", "fetch('http://127.0.0.1:3000/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--", "node", "bin/prepaint.ts"]
CMD ["serve"]
