select end_job($1, $2, $3, $4)
