# syntax=docker/dockerfile:1
# Builder and runtime have the same base, so the interpreter path of the virtual environment is right in both.
# The digest is of all platforms; .github/workflows/locks.yaml renews it every week.
ARG PYTHON_IMAGE=python:3.12.11-slim-bookworm@sha256:519591d6871b7bc437060736b9f7456b8731f1499a57e22e6c285135ae657bf7

FROM ${PYTHON_IMAGE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
RUN python -m venv --without-pip /opt/handloop
# the dependencies first, as a layer of their own: they change less often than the program
COPY requirements/program.lock tools/setuptools.lock ./
RUN python -m pip --python /opt/handloop/bin/python install --no-compile --require-hashes \
    --requirement program.lock \
 # nothing here imports kubernetes.aio; aiohttp and the rest are there for it alone
 && rm -rf /opt/handloop/lib/python3*/site-packages/kubernetes/aio \
 && python -m pip --python /opt/handloop/bin/python uninstall --yes \
    aiohttp aiohttp-retry aiohappyeyeballs aiosignal frozenlist multidict propcache yarl
COPY pyproject.toml setup.py README.md LICENSE ./
COPY handloop handloop
COPY apis apis
COPY client client
COPY workqueue workqueue
COPY informers informers
COPY controller controller
COPY manifests manifests
# what `make image` knows of the content by git, which is not here
ARG HANDLOOP_LOCAL_VERSION
# Without the neighbours. Built by the setuptools of a lock: an isolated build would fetch one without a hash. Compiled here,
# because the root is read-only where the program runs; the kubernetes package is left out, because only auth providers of a
# kubeconfig load it. The link makes `python -m controller` work as in the checkout.
RUN python -m pip install --require-hashes --requirement setuptools.lock \
 && python -m pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
 && python -m pip --python /opt/handloop/bin/python install --no-compile --no-deps /wheels/*.whl \
 && /opt/handloop/bin/python -m compileall -q -x /kubernetes/ /opt/handloop/lib \
 && ln -s handloop/controller "$(/opt/handloop/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
 && cd / && /opt/handloop/bin/python -m controller version

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="handloop" \
      org.opencontainers.image.description="client-go's controller machinery written by hand in Python" \
      org.opencontainers.image.licenses="Apache-2.0"
# nothing more is installed into this image
RUN python -m pip uninstall --yes pip
COPY --from=build /opt/handloop /opt/handloop
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PATH=/opt/handloop/bin:$PATH
USER 65532:65532
WORKDIR /tmp
# no shell: the program is process 1, and gets the kubelet's SIGTERM
ENTRYPOINT ["/opt/handloop/bin/python", "-m", "controller"]
