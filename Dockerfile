# The book's notebooks for a class. JupyterHub and repo2docker take it as it is, or:
#     docker build -t attention . && docker run --rm -p 8888:8888 attention
FROM python:3.12-slim
ARG NB_USER=reader NB_UID=1000
RUN useradd --create-home --uid $NB_UID $NB_USER
WORKDIR /home/$NB_USER/book
COPY --chown=$NB_UID . .
RUN pip install --no-cache-dir -r requirements.txt jupyterhub==5.5.0
RUN pip install --no-cache-dir --no-deps -r requirements-alone.txt
USER $NB_USER
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--no-browser", "--preferred-dir", "chapters"]
