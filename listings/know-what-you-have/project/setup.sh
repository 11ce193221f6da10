python3 -m venv .venv
.venv/bin/pip install executorch==1.5.1 libclang==18.1.1
cd .venv
ln -s lib/python3.*/site-packages/executorch executorch
ln -s lib/python3.*/site-packages/clang/native libclang
ln -s "$(gcc -print-file-name=include)" gcc-include
