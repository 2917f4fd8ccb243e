select finish_job($1, $2, $3, $4) as waiters
