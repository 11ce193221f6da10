python3 -m venv .venv
.venv/bin/pip install executorch==1.5.1 libclang==18.1.1
ln -s lib/python3.*/site-packages/executorch .venv/executorch
ln -s lib/python3.*/site-packages/clang/native .venv/libclang
ln -s "$(gcc -print-file-name=include)" .venv/gcc-include
