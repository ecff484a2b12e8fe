# syntax=docker/dockerfile:1
# The collector: receives, redacts, stores to ClickHouse and an object store. Packages are locked and hashed.
FROM python:3.12-slim-bookworm AS build
WORKDIR /build
COPY requirements/server.txt requirements/
RUN python -m venv /opt/runreel \
    && /opt/runreel/bin/python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes \
        -r requirements/server.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN PATH="/opt/runreel/bin:$PATH" /opt/runreel/bin/python -m pip install --no-cache-dir --disable-pip-version-check \
        --no-deps --no-build-isolation .

FROM python:3.12-slim-bookworm
# A number, so that Kubernetes can check that it is not root.
RUN useradd --uid 10001 --create-home --home-dir /var/lib/runreel runreel
COPY --from=build /opt/runreel /opt/runreel
ENV PATH="/opt/runreel/bin:$PATH" \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    RUNREEL_HOME=/var/lib/runreel
USER 10001
VOLUME /var/lib/runreel
EXPOSE 4317 4318 8888 13133
ENTRYPOINT ["runreel"]
CMD ["serve", "--config", "/etc/runreel/collector.yaml"]
