import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { addMember } from '@prepaint/service/accounts/members.ts'
import { findPersonByEmail } from '@prepaint/service/accounts/persons.ts'
import { startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { testCommands } from '../../test/support/commands.ts'
import { openTestDatabase } from '../../test/support/database.ts'
import { openFolder } from '../../test/support/folder.ts'

const database = await openTestDatabase()
const { pool } = database
const { good, printed, refused, wrong } = testCommands({
  DATABASE_URL: database.url,
  PREPAINT_DATA_DIR: openFolder(),
  PREPAINT_PUBLIC_URL: 'https://render.example.com',
})
const E = '--email agency@example.com'
const { id: account } = (await good(`account create ${E} --plan agency_plus`)) as { id: number }
for (const name of ['shop.example.com', 'blog.example.com']) {
  await pool.query(
    `insert into domain (account_id, custom_domain, origin_url) values ($1, $2, 'https://origin.example.com')`,
    [account, name],
  )
}
const join = async (email: string, role: 'editor' | 'owner') => {
  await good(`account create --email ${email} --plan starter`)
  const { id } = await findPersonByEmail(pool, email)
  await addMember(pool, account as never, id, { role, domains: null })
  return id
}
const actions = () =>
  database.column<string>(
    `select action || ' by ' || actor_kind from audit_entry where account_id = $1 order by id`,
    account,
  )

/** What a command records in the account. */
async function recordedBy(act: () => Promise<unknown>): Promise<string[]> {
  const before = (await actions()).length
  await act()
  return (await actions()).slice(before)
}

describe('member', () => {
  it('list shows role and domains; set-role changes both; remove removes; the last owner stays', async () => {
    await join('member@example.com', 'editor')
    const { members } = (await good(`member list ${E}`)) as { members: { email: string; role: string }[] }
    assert.deepEqual(
      members.map(({ email, role }) => `${email} ${role}`),
      ['agency@example.com owner', 'member@example.com editor'],
    )
    const M = '--member member@example.com'
    const recorded = await recordedBy(async () => {
      const { member } = (await good(
        `member set-role ${E} ${M} --role client --domains shop.example.com`,
      )) as { member: { role: string; domains: string[] } }
      assert.deepEqual([member.role, member.domains], ['client', ['shop.example.com']])
    })
    assert.deepEqual(recorded, ['member.role_changed by command_line'])
    const { member: viewer } = (await good(`member set-role ${E} ${M} --role viewer`)) as {
      member: { role: string; domains: string[] }
    }
    assert.deepEqual(
      [viewer.role, viewer.domains],
      ['viewer', ['shop.example.com']],
      'what is not named stays',
    )
    await refused(`member set-role ${E} ${M} --role client --domains foreign.example.com`, /Domain not found/)
    await wrong(`member set-role ${E} ${M} --role king`, /--role must be one of/)
    await refused(`member set-role ${E} --member nobody@example.com --role viewer`, /Member not found/)
    await refused(`member remove ${E} --member agency@example.com`, /The account needs an owner/)
    const { deleted } = (await good(`member remove ${E} ${M} --revoke-keys`)) as {
      deleted: { email: string }
    }
    assert.equal(deleted.email, 'member@example.com')
    assert.match(await printed(`member list ${E}`), /agency@example\.com/)
  })

  it('invite prints the link; list, resend and revoke find the invitation by its id', async () => {
    const invite = `member invite ${E} --member guest@example.com --role viewer`
    const made = (await good(invite)) as { email: string; url: string; expires_at: string }
    assert.equal(made.email, 'guest@example.com')
    assert.match(made.url, /^https:\/\/render\.example\.com\/welcome#pp_in_/)
    await refused(invite, /Already invited/)
    const { invitations } = (await good(`invitation list ${E}`)) as { invitations: { id: number }[] }
    const { id } = invitations[0]!
    const again = (await good(`invitation resend ${E} --id ${id}`)) as { url: string }
    assert.notEqual(again.url, made.url)
    await good(`invitation revoke ${E} --id ${id}`)
    await refused(`invitation revoke ${E} --id ${id}`, /Invitation not found/)
    assert.deepEqual(await good(`invitation list ${E}`), { invitations: [] })
  })
})

describe('person and session', () => {
  it('list shows persons; set-operator makes an operator and ends that; reset-link leads to a new password', async () => {
    await join('person@example.com', 'editor')
    const P = '--person person@example.com'
    const operator = async (args: string) =>
      ((await good(`person set-operator ${P}${args}`)) as { person: { is_operator: boolean } }).person
        .is_operator
    assert.equal(await operator(''), true)
    assert.equal(await operator(' --operator no'), false)
    const { persons } = (await good('person list')) as { persons: { email: string }[] }
    assert(persons.some(({ email }) => email === 'person@example.com'))
    const { url } = (await good(`person reset-link ${P}`)) as { url: string }
    assert.match(url, /welcome#pp_in_/)
    await refused('person reset-link --person nobody@example.com', /Person not found/)
  })

  it('list shows sessions; end ends one or all, and each account of the person records it', async () => {
    const { id: person } = await findPersonByEmail(pool, 'agency@example.com')
    const start = async () =>
      (await startSession(pool, person, { address: '192.0.2.1', userAgent: 'x' }, systemClock.nowMs()))!
    const { session } = await start()
    await start()
    const P = '--person agency@example.com'
    const { sessions } = (await good(`session list ${P}`)) as { sessions: object[] }
    assert.equal(sessions.length, 2)
    const recorded = await recordedBy(async () => {
      assert.deepEqual(await good(`session end ${P} --id ${session.id}`), { ended: 1 })
      assert.deepEqual(await good(`session end ${P}`), { ended: 1 })
    })
    assert.deepEqual(recorded, ['session.ended by command_line', 'session.ended by command_line'])
    await refused(`session end ${P} --id ${session.id}`, /Session not found/)
  })
})

describe('share', () => {
  it('create prints the link once, list shows it without, revoke ends it', async () => {
    const named = `${E} --name client --domains shop.example.com`
    const made = (await good(`share create ${named} --parts traffic,pages`)) as {
      share_link: { id: number; parts: string[]; created_by: null }
      token: string
      url: string
    }
    assert.equal(made.url, `https://render.example.com/shared#${made.token}`)
    assert.deepEqual(made.share_link.parts, ['traffic', 'pages'])
    assert.equal(made.share_link.created_by, null)
    const list = JSON.stringify(await good(`share list ${E}`))
    assert.match(list, /shop\.example\.com/)
    assert.doesNotMatch(list, /pp_sh_/)
    await wrong(`share create ${named} --parts everything`, /--parts must be one of/)
    await refused(`share create ${named} --expires 2020-01-01`, /expires_at must be in 1 hour to 400 days/)
    await refused(`share create ${E} --name x --domains foreign.example.com`, /Domain not found/)
    await good(`share revoke ${E} --id ${made.share_link.id}`)
    await refused(`share revoke ${E} --id ${made.share_link.id}`, /Share link not found/)
  })
})

describe('audit list', () => {
  it('prints entries, also as CSV and lines of JSON, of a time', async () => {
    const { entries } = (await good(`audit list ${E}`)) as { entries: { action: string }[] }
    assert.equal(entries.length, (await actions()).length)
    assert.deepEqual(await good(`audit list ${E} --to 2020-01-01`), { entries: [] })
    assert.match(await printed(`audit list ${E} --format csv`), /^id,at,actor_kind,actor,/)
    const [first] = (await printed(`audit list ${E} --format jsonl`)).split('\n')
    assert.equal((JSON.parse(first!) as { action: string }).action, entries[0]?.action)
    await wrong(`audit list ${E} --format xml`, /--format must be one of/)
  })
})

describe('account', () => {
  it('rename and export name the account; delete asks for 7 days, and --cancel keeps it', async () => {
    const renamed = (await good(`account rename ${E} --name Garden`)) as { account: { name: string } }
    assert.equal(renamed.account.name, 'Garden')
    const { lines } = (await good(`account export ${E}`)) as { lines: { kind: string }[] }
    assert.equal(lines.filter(({ kind }) => kind === 'domain').length, 2)
    const { deletion } = (await good(`account delete ${E}`)) as {
      deletion: { requested_at: string; deletes_at: string }
    }
    const days = (Date.parse(deletion.deletes_at) - Date.parse(deletion.requested_at)) / 86_400_000
    assert.equal(days, 7)
    assert.deepEqual(await good(`account delete ${E} --cancel`), { deletion: null })
    await refused(`account delete ${E} --cancel`, /No deletion was requested/)
  })

  it('of two accounts with one address, a command takes the one with --account', async () => {
    const other = (await good(`account create ${E} --plan starter --name Second`)) as { id: number }
    await wrong(
      `member list ${E}`,
      new RegExp(`--account with one of ${account} \\(Garden\\), ${other.id} \\(Second\\)`),
    )
    const { members } = (await good(`member list --account ${other.id}`)) as { members: object[] }
    assert.equal(members.length, 1)
  })
})
