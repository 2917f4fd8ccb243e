import { Badge } from '@mantine/core'
import IconBell from '@tabler/icons-react/dist/esm/icons/IconBell.mjs'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { incidentsQuery } from '../api/notification-queries.ts'
import { ROUTES } from '../route-map.ts'
import classes from './shell.module.css'

/** Open incidents, on every screen. */
export function Bell() {
  const { data = [] } = useQuery(incidentsQuery())
  const open = data.filter(({ state }) => state === 'open').length
  return (
    <Link href={ROUTES.incidents} className={classes.link} aria-label={`Open incidents: ${open}`}>
      <IconBell size={18} stroke={1.75} aria-hidden />
      {open > 0 && <Badge color="red">{open}</Badge>}
    </Link>
  )
}
