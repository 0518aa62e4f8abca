# syntax=docker/dockerfile:1
# Builder and runtime are the same base, so that the virtual environment's interpreter path fits.
ARG PYTHON_IMAGE=python:3.12-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
RUN python -m venv --without-pip /opt/handloop
COPY requirements.lock ./
RUN python -m pip --python /opt/handloop/bin/python install --require-hashes --requirement requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY apis apis
COPY client client
COPY workqueue workqueue
COPY informers informers
COPY controller controller
COPY sandbox sandbox
RUN python -m pip --python /opt/handloop/bin/python install --no-deps . \
 && /opt/handloop/bin/python -m compileall -q /opt/handloop/lib

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="handloop" org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/handloop /opt/handloop
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PATH=/opt/handloop/bin:$PATH
USER 65532:65532
WORKDIR /tmp
ENTRYPOINT ["/opt/handloop/bin/python", "-m", "controller"]
