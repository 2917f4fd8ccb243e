/**
 * The whole environment of PostgreSQL and of the commands around it. Ours is
 * not passed on: PGDATA, PGOPTIONS and the like would change what they do, a
 * locale would translate the messages that we read, and DATABASE_URL holds a
 * password.
 */
export const CHILD_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
}
