import { Alert, Anchor, Badge, Button, Checkbox, Group, TextInput } from '@mantine/core'
import { INCIDENT_KINDS } from '@prepaint/contract/notifications/kinds.ts'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { channelsQuery, useChannelRequest } from '../../api/notification-queries.ts'
import type { Channels } from '../../api/types.ts'
import { RowButton } from '../../parts/data-table.tsx'
import { Editable, May } from '../../parts/may.tsx'
import { notifyDone } from '../../parts/notifications.tsx'
import { Note, Page, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { ROUTES } from '../../route-map.ts'
import { Endpoints } from './endpoints.tsx'
import { kindTitle } from './kind-title.ts'

type Email = Channels['emails'][number]

const STATES: Record<Email['state'], { color: string; label: string }> = {
  waiting: { color: 'yellow', label: 'Waits for its confirmation' },
  confirmed: { color: 'paint', label: 'Confirmed' },
  unsubscribed: { color: 'gray', label: 'Unsubscribed' },
  refused: { color: 'red', label: 'Refused by the mail server' },
}

export default function Notifications() {
  const channels = useQuery(channelsQuery)
  const report = (
    <Anchor component={Link} href={ROUTES.report}>
      Weekly report
    </Anchor>
  )
  return (
    <Page title="Notifications" lead="Who gets e-mails, and where events are sent." actions={report}>
      <Loaded query={channels}>
        {(data) => (
          <Editable action="putNotifications">
            <Emails key={JSON.stringify(data)} stored={data.emails} byMail={data.by_mail} />
          </Editable>
        )}
      </Loaded>
      <May action="listEndpoints">
        <Endpoints />
      </May>
    </Page>
  )
}

function Emails({ stored, byMail }: { stored: Email[]; byMail: boolean }) {
  const [emails, setEmails] = useState(stored)
  const { mutate, isPending } = useChannelRequest()
  const save = (changed: readonly Email[]) => {
    const body = { emails: changed.map(({ state: _, ...email }) => email) }
    mutate(['PUT', '/api/notifications', { body }], { onSuccess: () => notifyDone('Saved') })
  }
  const change = (changed: Email) =>
    setEmails(emails.map((email) => (email.email === changed.email ? changed : email)))
  const remove = (address: string) => setEmails(emails.filter(({ email }) => email !== address))
  return (
    <Section
      title="E-mail"
      lead="Incidents within one minute are sent in one e-mail. New addresses get a link to confirm."
    >
      {!byMail && (
        <Alert color="yellow">The operator has configured no mail server: no e-mail is sent.</Alert>
      )}
      {emails.map((email) => (
        <EmailFields key={email.email} email={email} onChange={change} onRemove={remove} />
      ))}
      {emails.length === 0 && <Note>No address receives e-mail.</Note>}
      <Group align="end">
        <NewEmail onAdd={(address) => save([...emails, newEmail(address)])} />
        <Button loading={isPending} onClick={() => save(emails)}>
          Save
        </Button>
      </Group>
    </Section>
  )
}

/** A new address gets all kinds of incidents. */
function newEmail(email: string): Email {
  return { email, kinds: INCIDENT_KINDS, weekly_report: false, state: 'waiting' }
}

function NewEmail({ onAdd }: { onAdd: (address: string) => void }) {
  const [typed, setTyped] = useState('')
  const address = typed.trim().toLowerCase()
  return (
    <>
      <TextInput
        type="email"
        label="Another address"
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      <Button variant="default" onClick={() => onAdd(address)} disabled={address === ''}>
        Add
      </Button>
    </>
  )
}

function EmailFields(props: {
  email: Email
  onChange: (changed: Email) => void
  onRemove: (address: string) => void
}) {
  const { email, onChange, onRemove } = props
  const { color, label } = STATES[email.state]
  return (
    <fieldset className="fields">
      <legend>
        {email.email} <Badge color={color}>{label}</Badge>
      </legend>
      <Checkbox.Group value={email.kinds} onChange={(kinds) => onChange({ ...email, kinds })}>
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
          checked={email.weekly_report}
          onChange={() => onChange({ ...email, weekly_report: !email.weekly_report })}
        />
        <RowButton label="Remove" subject={email.email} onClick={() => onRemove(email.email)} />
      </Group>
    </fieldset>
  )
}
