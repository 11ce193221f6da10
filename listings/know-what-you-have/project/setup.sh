python3 -m venv .venv
.venv/bin/pip install executorch==1.5.1 torch==2.13.0 libclang==18.1.1
cd .venv
ln -sfn lib/python3.*/site-packages/executorch executorch
ln -sfn lib/python3.*/site-packages/clang/native libclang
ln -sfn "$(gcc -print-file-name=include)" gcc-include
