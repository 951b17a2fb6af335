# An image of the service. It builds without a network from wheels in dist/:
#   pip wheel --wheel-dir dist '.[web]'     weft and all that it needs, for the platform and the Python of the image
#   docker build --tag weft .
#   docker run --rm --publish 127.0.0.1:8000:8000 --env WEFT_API_KEY=… --read-only weft
# The base image has to be at hand; another one can be named: --build-arg PYTHON_IMAGE=…
ARG PYTHON_IMAGE=python:3.12-slim
FROM ${PYTHON_IMAGE}

COPY dist/*.whl /wheels/
RUN pip install --no-index --find-links /wheels --no-cache-dir 'weft-coherence[web]' && rm -rf /wheels

# A user without a name, a home or rights: the service writes no files.
USER 10001:10001
WORKDIR /tmp
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1

EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
ENTRYPOINT ["weft", "serve"]
CMD ["--host", "0.0.0.0", "--port", "8000"]
