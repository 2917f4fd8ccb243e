-- Live renders of a node whose crawlers have all left.
select id from job j where node = $1 and state = 'running' and priority = 0 and is_abandoned(j)
