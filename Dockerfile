# The server with the inspector, on SQLite in /data unless TIDEMARK_STORE names another store. The image has not
# been built yet; `scripts/containers/containers.test.ts` runs its steps in a directory instead of a container.
#
#   docker build -t tidemark .
#   docker run -p 127.0.0.1:7420:7420 -e TIDEMARK_ADMIN_KEY -v tidemark:/data tidemark

FROM node:24.21.0-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json tsconfig.base.json tsconfig.json ./
COPY scripts scripts
COPY packages packages
# The pages that the server has at /docs.
COPY README.md ARCHITECTURE.md ./
COPY docs docs
COPY faults/README.md faults/README.md
RUN npm ci --no-audit --no-fund && npm run build
# Installs again, but only the dependencies of the server and its drivers. This needs the manifests of all workspaces.
RUN npm ci --no-audit --no-fund --omit=dev --omit=optional --ignore-scripts \
      --workspace=@tidemark/cli --workspace=@tidemark/nats --workspace=@tidemark/postgres --workspace=@tidemark/redis \
      --workspace=@tidemark/dynamodb --workspace=@tidemark/s3 \
 && rm -rf packages/*/src packages/*/test

FROM node:24.21.0-bookworm-slim
LABEL org.opencontainers.image.title="Tidemark" org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production TIDEMARK_STORE=sqlite:/data/state.db
WORKDIR /app
COPY --from=build /src/node_modules node_modules
COPY --from=build /src/packages packages
COPY LICENSE ./
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 7420
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:7420/readyz').then((it) => process.exit(it.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "packages/cli/dist/cli.js"]
CMD ["serve", "--auth", "--host", "0.0.0.0"]
