# The tutor with ROCm: built in AMD's development image, run in the smaller one.
#   docker build -t tinyllama-tutor -f containers/rocm.Dockerfile .
#   docker run -it --device=/dev/kfd --device=/dev/dri --group-add video --group-add render tinyllama-tutor
ARG ROCM=6.4.1
FROM rocm/dev-ubuntu-24.04:${ROCM}-complete AS build
RUN apt-get update && apt-get install -y --no-install-recommends build-essential ca-certificates curl zlib1g-dev libzstd-dev \
    && rm -rf /var/lib/apt/lists/*
RUN curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal --default-toolchain 1.95
# The checkout asks for the newest Rust there is, which would be downloaded as well.
ENV PATH=/root/.cargo/bin:$PATH RUSTUP_TOOLCHAIN=1.95
WORKDIR /source
COPY . .
RUN PATH=$PWD/.ci/hipconfig:$PATH cargo build --release --locked --features rocm

FROM rocm/dev-ubuntu-24.04:${ROCM}
RUN apt-get update && apt-get install -y --no-install-recommends hip-runtime-amd hipblaslt rocblas rccl \
        rocprofiler-sdk rocprofiler-systems rocprofiler-compute amd-smi-lib python3-venv \
    && rm -rf /var/lib/apt/lists/*
# rocprof-compute takes the first python3 in PATH, and needs packages there.
RUN python3 -m venv /opt/profiler && /opt/profiler/bin/pip install --no-cache-dir -r /opt/rocm/libexec/rocprofiler-compute/requirements.txt
ENV PATH=/opt/profiler/bin:/opt/rocm/bin:$PATH LANG=C.UTF-8
COPY --from=build /source/target/release/tinyllama-tutor /usr/local/bin/
ENTRYPOINT ["tinyllama-tutor"]
