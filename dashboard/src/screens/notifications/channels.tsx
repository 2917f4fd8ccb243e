import { Alert, Anchor, Badge, Button, Checkbox, Group, TextInput } from '@mantine/core'
import { INCIDENT_KINDS } from '@prepaint/contract/notifications/kinds.ts'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { channelsQuery, useChannelRequest } from '../../api/notification-queries.ts'
import type { Channels } from '../../api/types.ts'
import { RowButton } from '../../parts/data-table.tsx'
import { notifyDone } from '../../parts/notifications.tsx'
import { Note, Page, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { ROUTES } from '../../route-map.ts'
import { Endpoints } from './endpoints.tsx'
import { kindTitle } from './incidents.tsx'

type Email = Channels['emails'][number]

const STATES = {
  waiting: { color: 'yellow', label: 'Waits for its confirmation' },
  confirmed: { color: 'paint', label: 'Confirmed' },
  unsubscribed: { color: 'gray', label: 'Unsubscribed' },
  refused: { color: 'red', label: 'Refused by the mail server' },
} as const

export default function Notifications() {
  const report = (
    <Anchor component={Link} href={ROUTES.report}>
      Weekly report
    </Anchor>
  )
  return (
    <Page title="Notifications" lead="Who is told when something is wrong." actions={report}>
      <Loaded query={useQuery(channelsQuery)}>
        {(data) => <Emails key={JSON.stringify(data)} {...data} />}
      </Loaded>
      <Endpoints />
    </Page>
  )
}

function Emails({ emails: stored, by_mail: byMail }: Channels) {
  const [emails, setEmails] = useState<Email[]>(stored)
  const [added, setAdded] = useState('')
  const { mutate, isPending } = useChannelRequest()
  const save = (list: Email[]) => {
    const body = { emails: list.map(({ state: _, ...email }) => email) }
    mutate(['PUT', '/api/notifications', { body }], { onSuccess: () => notifyDone('Saved') })
  }
  const change = (email: string, by: Partial<Email>) =>
    setEmails(emails.map((each) => (each.email === email ? { ...each, ...by } : each)))
  const email = added.trim().toLowerCase()
  const one = { email, kinds: INCIDENT_KINDS, weekly_report: false, state: 'waiting' } as const
  return (
    <Section
      title="E-mail"
      lead="What happens within a minute is one e-mail. New addresses get a link to confirm."
    >
      {!byMail && (
        <Alert color="yellow">The operator has configured no mail server: no e-mail is sent.</Alert>
      )}
      {emails.map(({ email, kinds, weekly_report: report, state }) => (
        <fieldset key={email} className="fields">
          <legend>
            {email} <Badge color={STATES[state].color}>{STATES[state].label}</Badge>
          </legend>
          <Checkbox.Group value={kinds} onChange={(chosen) => change(email, { kinds: chosen })}>
            <Group gap="sm" mb="sm">
              {INCIDENT_KINDS.map((kind) => (
                <Checkbox key={kind} size="xs" value={kind} label={kindTitle(kind)} />
              ))}
            </Group>
          </Checkbox.Group>
          <Group gap="sm">
            <Checkbox
              size="xs"
              label="Weekly report"
              checked={report}
              onChange={() => change(email, { weekly_report: !report })}
            />
            <RowButton
              label="Remove"
              of={email}
              onClick={() => setEmails(emails.filter((each) => each.email !== email))}
            />
          </Group>
        </fieldset>
      ))}
      {emails.length === 0 && <Note>No address receives e-mail.</Note>}
      <Group align="end">
        <TextInput
          type="email"
          label="Another address"
          value={added}
          onChange={({ currentTarget: { value } }) => setAdded(value)}
        />
        <Button variant="default" onClick={() => save([...emails, one])} disabled={email === ''}>
          Add
        </Button>
        <Button loading={isPending} onClick={() => save(emails)}>
          Save
        </Button>
      </Group>
    </Section>
  )
}
