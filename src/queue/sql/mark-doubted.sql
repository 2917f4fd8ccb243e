update page set doubted_at = $3 where domain_id = $1 and path = $2 and doubted_at is null
