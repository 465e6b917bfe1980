# joulemap in a container.
#   docker build -t joulemap .                                                            slim
#   docker build -t joulemap --build-arg BASE=nvidia/cuda:12.8.1-base-ubuntu22.04 .       for CUDA programs
#   docker run --rm -e JOULEMAP_SIM=h200 joulemap doctor                                  without a GPU
#   docker run --rm --gpus all joulemap doctor
# Hardware counters also need --cap-add SYS_ADMIN; CPU energy needs -v /sys/class/powercap:/sys/class/powercap:ro.
ARG BASE=debian:12-slim

FROM debian:12 AS wheel
WORKDIR /src
COPY . .
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
# The wheel's SQLite, jansson and zlib are built from the distribution's source packages.
RUN sed -i 's/^Types: deb$/Types: deb deb-src/' /etc/apt/sources.list.d/debian.sources; \
    apt-get update; \
    apt-get install -y --no-install-recommends ca-certificates make python3 python3-venv; \
    scripts/bootstrap wheel; \
    make wheel

FROM ${BASE}
COPY --from=wheel /src/dist/*.whl /tmp/
# The driver's libraries come from the host; joulemap needs those of NVML and CUDA.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility PATH=/opt/joulemap/bin:$PATH
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-venv \
    && rm -rf /var/lib/apt/lists/* \
    && python3 -m venv /opt/joulemap \
    && /opt/joulemap/bin/pip install --no-cache-dir /tmp/*.whl \
    && rm /tmp/*.whl
ENTRYPOINT ["joulemap"]
CMD ["doctor"]
