# The image of evaltrail: docker build --build-arg COMMIT=$(git rev-parse HEAD) -t evaltrail .
# An agent in Python needs its interpreter: copy /usr/local/bin/evaltrail into an image of python instead.
FROM rust:1.95-slim-bookworm AS build
WORKDIR /source
COPY . .
ARG COMMIT
ENV EVALTRAIL_COMMIT=$COMMIT
RUN cargo build --locked --profile dist && strip target/dist/evaltrail

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /source/target/dist/evaltrail /usr/local/bin/evaltrail
ENV EVALTRAIL_HOME=/tmp/evaltrail
WORKDIR /work
ENTRYPOINT ["/usr/local/bin/evaltrail"]
