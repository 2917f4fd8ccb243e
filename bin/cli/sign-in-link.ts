import type { Person } from '@prepaint/service/accounts/persons.ts'
import { type CreatedLink, createLink, welcomeUrl } from '@prepaint/service/accounts/sign-in/links.ts'
import type pg from 'pg'
import type { Surroundings } from '../command-line/command.ts'
import { withDatabase } from '../command-line/open-database.ts'
import { apiUrl } from '../command-line/options.ts'

/** What a command prints of a link that lets somebody in. `about` is a line before it. */
export function shownLink(around: Surroundings, about: string, email: string, link: CreatedLink) {
  const url = welcomeUrl(apiUrl(around.config), link.token)
  around.say(about)
  return { json: { email, url, expires_at: link.expires_at }, text: url }
}

/** Makes a link with which the person that `find` returns sets a new password. */
export async function shownResetLink(around: Surroundings, find: (pool: pg.Pool) => Promise<Person>) {
  const { email, link } = await withDatabase(around, async ({ pool, nowMs }) => {
    const person = await find(pool)
    const wanted = { kind: 'reset', person: person.id, isByCommand: true } as const
    return { email: person.email, link: await createLink(pool, around.config.plans, wanted, nowMs) }
  })
  return shownLink(
    around,
    'Link to set a new password, shown only once. It works once, within an hour:',
    email,
    link,
  )
}
