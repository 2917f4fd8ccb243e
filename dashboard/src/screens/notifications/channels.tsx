import { Alert, Anchor, Badge, Button, Checkbox, Group, Radio, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { INCIDENT_KINDS } from '@prepaint/contract/notifications/kinds.ts'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { channelsQuery, useChannelRequest } from '../../api/notification-queries.ts'
import type { Channels } from '../../api/types.ts'
import { RowButton } from '../../parts/data-table.tsx'
import { FormDialog } from '../../parts/dialog.tsx'
import { Editable, May } from '../../parts/may.tsx'
import { notifyDone } from '../../parts/notifications.tsx'
import { Note, Page, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { ROUTES } from '../../route-map.ts'
import { DomainChoice } from '../account/domain-choice.tsx'
import { emailProblem } from '../account/email-field.tsx'
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
  const [isAdding, setAdding] = useState(false)
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
        <Button loading={isPending} onClick={() => save(emails)}>
          Save
        </Button>
        <Button variant="default" onClick={() => setAdding(true)}>
          Add an address
        </Button>
      </Group>
      {isAdding && (
        <NewEmail
          onClose={() => setAdding(false)}
          onAdd={(email) => {
            setAdding(false)
            save([...emails, email])
          }}
        />
      )}
    </Section>
  )
}

const NO_REQUEST = { isPending: false, error: null, reset() {} }

/** Asks for the address and its sites first: most addresses want all kinds of incidents. */
function NewEmail({ onAdd, onClose }: { onAdd: (email: Email) => void; onClose: () => void }) {
  const form = useForm<Email>({
    initialValues: {
      email: '',
      domains: null,
      kinds: INCIDENT_KINDS,
      weekly_report: false,
      monthly_report: false,
      state: 'waiting',
    },
    validate: { email: emailProblem, domains: domainsProblem },
  })
  const { values, errors, setValues } = form
  return (
    <FormDialog
      title="Add an address"
      label="Add"
      sent={NO_REQUEST}
      onSubmit={form.onSubmit((email) => onAdd({ ...email, email: email.email.trim().toLowerCase() }))}
      onClose={onClose}
    >
      <TextInput label="E-mail" type="email" required data-autofocus {...form.getInputProps('email')} />
      <Domains
        domains={values.domains}
        error={errors['domains'] as string | undefined}
        onChange={(domains) => setValues({ domains })}
      />
      <Reports email={values} onChange={setValues} />
      <Kinds email={values} onChange={setValues} />
    </FormDialog>
  )
}

function domainsProblem(domains: Email['domains']): string | null {
  return domains !== null && domains.length === 0 ? 'Choose at least one site' : null
}

function EmailFields(props: {
  email: Email
  onChange: (changed: Email) => void
  onRemove: (address: string) => void
}) {
  const { email, onRemove } = props
  const { color, label } = STATES[email.state]
  const change = (changed: Partial<Email>) => props.onChange({ ...email, ...changed })
  return (
    <fieldset className="fields">
      <legend>
        {email.email} <Badge color={color}>{label}</Badge>
      </legend>
      <Stack gap="sm">
        <Domains domains={email.domains} error={undefined} onChange={(domains) => change({ domains })} />
        <Reports email={email} onChange={change} />
        <Kinds email={email} onChange={change} />
        <Group>
          <RowButton label="Remove" subject={email.email} onClick={() => onRemove(email.email)} />
        </Group>
      </Stack>
    </fieldset>
  )
}

function Domains(props: {
  domains: Email['domains']
  error: string | undefined
  onChange: (domains: Email['domains']) => void
}) {
  const { domains, error, onChange } = props
  return (
    <Stack gap="xs">
      <Radio.Group
        label="Sites"
        value={domains === null ? 'all' : 'some'}
        onChange={(which) => onChange(which === 'all' ? null : [])}
      >
        <Group gap="md" mt={4}>
          <Radio size="xs" value="all" label="All, later ones too" />
          <Radio size="xs" value="some" label="Only these" />
        </Group>
      </Radio.Group>
      {domains !== null && (
        <DomainChoice label="Sites that are told of" chosen={domains} error={error} onChange={onChange} />
      )}
    </Stack>
  )
}

function Reports({ email, onChange }: { email: Email; onChange: (changed: Partial<Email>) => void }) {
  return (
    <Group gap="md">
      <Checkbox
        size="xs"
        label="Weekly report"
        checked={email.weekly_report}
        onChange={() => onChange({ weekly_report: !email.weekly_report })}
      />
      <Checkbox
        size="xs"
        label="Monthly report"
        checked={email.monthly_report}
        onChange={() => onChange({ monthly_report: !email.monthly_report })}
      />
    </Group>
  )
}

/** Folded: few addresses want some kinds only. Rendered when it is opened: there are ten boxes for each address. */
function Kinds({ email, onChange }: { email: Email; onChange: (changed: Partial<Email>) => void }) {
  const { kinds } = email
  const [isOpen, setOpen] = useState(false)
  const chosen =
    kinds.length === INCIDENT_KINDS.length ? 'all' : `${kinds.length} of ${INCIDENT_KINDS.length}`
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <Text component="summary" size="sm">
        Choose kinds ({chosen})
      </Text>
      {isOpen && (
        <Checkbox.Group
          value={kinds}
          onChange={(changed) => onChange({ kinds: changed as Email['kinds'] })}
          aria-label={`Kinds of incidents for ${email.email || 'the address'}`}
        >
          <Group gap="sm" mt="xs">
            {INCIDENT_KINDS.map((kind) => (
              <Checkbox key={kind} size="xs" value={kind} label={kindTitle(kind)} />
            ))}
          </Group>
        </Checkbox.Group>
      )}
    </details>
  )
}
