# The server in a container that holds nothing else: no shell, no libraries, no root.
#
#   docker build -t haricot .
#   docker run -d -p 127.0.0.1:11300:11300 -v haricot:/var/lib/haricot haricot
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN packaging/program /out/haricot
# The directory that the server keeps jobs in, as its user will find it; a new volume takes its owner from here.
RUN install -d -m 0750 -o 65532 -g 65532 /out/state

FROM scratch
COPY --from=build /out/haricot /usr/bin/haricot
COPY --from=build --chown=65532:65532 /out/state /var/lib/haricot
USER 65532:65532
VOLUME /var/lib/haricot
EXPOSE 11300
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5m --start-interval=1s CMD ["/usr/bin/haricot", "stats", "--addr", "127.0.0.1:11300"]
ENTRYPOINT ["/usr/bin/haricot"]
CMD ["serve", "-b", "/var/lib/haricot"]
