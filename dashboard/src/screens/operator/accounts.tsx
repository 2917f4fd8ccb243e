import { Badge, Button, Group, Menu, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { accountsQuery, installationQuery, ownAccountsQuery, personsQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useSession } from '../../api/session.ts'
import type { AccountInList, MadeLink, PersonInList } from '../../api/types.ts'
import { count, exactTime } from '../../format.ts'
import { useAddressed } from '../../parts/addressed.ts'
import { ShownOnce } from '../../parts/copy-field.tsx'
import { DataTable, RowButton } from '../../parts/data-table.tsx'
import { ConfirmDialog, FormDialog } from '../../parts/dialog.tsx'
import { notifyDone, notifyFailed } from '../../parts/notifications.tsx'
import { Note, Page, Section } from '../../parts/page.tsx'
import { Loaded, NothingFound } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { emailProblem } from '../account/email-field.tsx'

type Made = { title: string } & MadeLink

const WARNINGS: Record<MadeLink['mail'], string> = {
  off: 'Copy it now, and give it only to the person it is for. It is shown only once, and works once.',
  sent: 'It was sent by e-mail. Copy it only if the e-mail does not arrive. It is shown only once, and works once.',
  failed:
    'The e-mail could not be sent; the log says why. Copy the link now, and give it only to the person it is for. It is shown only once, and works once.',
}

export default function Accounts() {
  const accounts = useQuery(accountsQuery)
  const [isInviting, setInviting] = useState(false)
  useAddressed('invite', () => setInviting(true))
  const [made, setMade] = useState<Made | null>(null)
  return (
    <Page
      title="Accounts"
      lead="The accounts of this installation. You can change them, but you cannot sign in as them or see the content of their pages."
      actions={
        <Button onClick={() => setInviting(true)} disabled={accounts.data === undefined}>
          Invite an owner
        </Button>
      }
    >
      <Loaded query={accounts}>{(data) => <AccountTable {...data} onMade={setMade} />}</Loaded>
      <Persons />
      {isInviting && accounts.data !== undefined && (
        <Invite
          plans={accounts.data.plans}
          onClose={() => setInviting(false)}
          onMade={(link) => {
            setInviting(false)
            setMade(link)
          }}
        />
      )}
      {made !== null && (
        <ShownOnce
          title={made.title}
          warning={WARNINGS[made.mail]}
          fields={[{ label: `Link, until ${exactTime(made.link.expires_at)}`, value: made.link.url }]}
          onClose={() => setMade(null)}
        />
      )}
    </Page>
  )
}

function AccountTable(props: {
  accounts: readonly AccountInList[]
  plans: string[]
  onMade: (made: Made) => void
}) {
  const [search, setSearch] = useState('')
  const sought = search.trim().toLowerCase()
  const found = props.accounts.filter(
    ({ email, name }) => email.includes(sought) || name.toLowerCase().includes(sought),
  )
  return (
    <Stack>
      <TextInput
        aria-label="Search by name or e-mail"
        placeholder="Search by name or e-mail"
        type="search"
        maw={360}
        value={search}
        onChange={(event) => setSearch(event.currentTarget.value)}
      />
      <div className="sheet sheet-flush">
        <DataTable
          rows={found}
          keyOf={({ id }) => id}
          columns={[
            { title: 'Account', width: 200, cell: (account) => <AccountName account={account} /> },
            {
              title: 'Plan',
              cell: (account) => <PlanSelect account={account} plans={props.plans} />,
            },
            { title: 'Members', kind: 'number', cell: ({ members }) => count(members) },
            { title: 'Domains', kind: 'number', cell: ({ domains }) => count(domains) },
            { title: 'Renders this month', kind: 'number', cell: ({ renders_used }) => count(renders_used) },
            {
              title: 'Actions',
              kind: 'action',
              cell: (account) => <AccountMenu account={account} onMade={props.onMade} />,
            },
          ]}
        />
        {found.length === 0 && (
          <NothingFound
            title={`No account has “${search.trim()}” in its name or e-mail address`}
            all="Show all accounts"
            onClear={() => setSearch('')}
          />
        )}
      </div>
    </Stack>
  )
}

function AccountName({ account }: { account: AccountInList }) {
  return (
    <>
      <Group gap={6}>
        <Text size="sm" fw={500} className="break">
          {account.name}
        </Text>
        {account.suspended && <Badge color="red">suspended</Badge>}
      </Group>
      <Note>
        {account.name === account.email ? '' : `${account.email}, `}
        {account.can_sign_in ? 'created ' : 'cannot sign in yet, created '}
        <TimeText at={account.created_at} />
      </Note>
    </>
  )
}

/** One change of an account. */
type Change = { kind: 'plan'; plan: string } | { kind: 'suspended'; suspended: boolean }

function bodyOf(change: Change): Partial<AccountInList> {
  switch (change.kind) {
    case 'plan':
      return { plan: change.plan }
    case 'suspended':
      return { suspended: change.suspended }
  }
}

function changeText(change: Change): string {
  switch (change.kind) {
    case 'plan':
      return `now has the plan ${change.plan}`
    case 'suspended':
      return change.suspended ? 'is suspended' : 'is no longer suspended'
  }
}

/** Returns the change that takes another one back, or null: a suspension is ended by the menu. */
function undoOf(change: Change, before: AccountInList): Change | null {
  switch (change.kind) {
    case 'plan':
      return { kind: 'plan', plan: before.plan }
    case 'suspended':
      return null
  }
}

function useChange(account: AccountInList) {
  const queries = useQueryClient()
  const change = useMutation({
    mutationFn: ({ made }: { made: Change; isUndo?: boolean }) =>
      request('PUT', `/api/operator/accounts/${account.id}`, { body: bodyOf(made) }),
    onSuccess: async (_answer, { made, isUndo = false }) => {
      const undo = isUndo ? null : undoOf(made, account)
      const text = `${account.email} ${changeText(made)}`
      if (undo === null) notifyDone(text)
      else notifyDone(text, () => change.mutate({ made: undo, isUndo: true }))
      await queries.invalidateQueries({ queryKey: accountsQuery.queryKey })
    },
    onError: (error) => notifyFailed(`${account.email} was not changed`, error),
  })
  return change
}

function PlanSelect({ account, plans }: { account: AccountInList; plans: string[] }) {
  const change = useChange(account)
  return (
    <NativeSelect
      aria-label={`Plan of ${account.email}`}
      size="xs"
      data={plans}
      value={account.plan}
      disabled={change.isPending}
      onChange={(event) => change.mutate({ made: { kind: 'plan', plan: event.currentTarget.value } })}
    />
  )
}

function AccountMenu({ account, onMade }: { account: AccountInList; onMade: (made: Made) => void }) {
  const { email, suspended } = account
  const own = useQuery(ownAccountsQuery)
  const isMe = own.data?.some(({ id }) => id === account.id) === true
  const change = useChange(account)
  const [isSuspending, setSuspending] = useState(false)
  const isOnlySso = useQuery(installationQuery).data?.single_sign_on?.is_only === true
  const reset = useMutation({
    mutationFn: () => request<MadeLink>('POST', `/api/operator/accounts/${account.id}/reset-link`),
    onSuccess: (made) => onMade({ title: `A password link for ${email}`, ...made }),
    onError: (error) => notifyFailed('No link was created', error),
  })
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <Button size="compact-sm" variant="default" aria-label={`Actions for ${email}`}>
            Actions
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {!isOnlySso && <Menu.Item onClick={() => reset.mutate()}>Create a password link</Menu.Item>}
          {suspended ? (
            <Menu.Item
              disabled={isMe}
              onClick={() => change.mutate({ made: { kind: 'suspended', suspended: false } })}
            >
              End the suspension
            </Menu.Item>
          ) : (
            <Menu.Item disabled={isMe} color="red" onClick={() => setSuspending(true)}>
              Suspend
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {isSuspending && (
        <ConfirmDialog
          title={`Suspend ${email}?`}
          label="Suspend the account"
          onClose={() => setSuspending(false)}
          run={() => change.mutateAsync({ made: { kind: 'suspended', suspended: true } })}
        >
          <Text size="sm" component="div" ta="start">
            Until you end the suspension:
            <ul>
              <li>Sign-ins, API keys and webhook tokens of the account are refused.</li>
              <li>Crawlers of its domains get the origin, like people. No site goes down.</li>
              <li>Its queued jobs are cancelled. Cached pages are kept.</li>
            </ul>
          </Text>
        </ConfirmDialog>
      )}
    </>
  )
}

function Invite(props: { plans: string[]; onClose: () => void; onMade: (made: Made) => void }) {
  const form = useForm({
    initialValues: { email: '', name: '', plan: props.plans[0] ?? '', role: 'owner' },
    validate: { email: emailProblem },
  })
  const invite = useMutation({
    mutationFn: ({ email, name, plan, role }: typeof form.values) =>
      request<MadeLink>('POST', '/api/operator/invitations', {
        body: { email: email.trim(), name: name.trim() || undefined, plan, role },
      }),
    onSuccess: (made, { email }) => props.onMade({ title: `An invitation for ${email.trim()}`, ...made }),
  })
  return (
    <FormDialog
      title="Invite an owner"
      label="Create the link"
      sent={invite}
      onSubmit={form.onSubmit((values) => invite.mutate(values))}
      onClose={props.onClose}
    >
      <TextInput label="E-mail" type="email" required data-autofocus {...form.getInputProps('email')} />
      <TextInput
        label="Name of the account"
        placeholder="The e-mail address"
        {...form.getInputProps('name')}
      />
      <NativeSelect label="Plan" data={props.plans} {...form.getInputProps('plan')} />
      <NativeSelect
        label="Role"
        data={[
          { value: 'owner', label: 'Owner of sites' },
          { value: 'operator', label: 'Operator: can see and change all accounts' },
        ]}
        {...form.getInputProps('role')}
      />
    </FormDialog>
  )
}

/** Everyone who can sign in. Operators are made here. */
function Persons() {
  const persons = useQuery(personsQuery)
  return (
    <Section title="Persons" lead="Everyone who can sign in. Operators can see and change all accounts.">
      <Loaded query={persons}>
        {(rows) => (
          <DataTable
            rows={rows}
            keyOf={({ id }) => id}
            columns={[
              {
                title: 'Person',
                cell: ({ email, can_sign_in, is_operator }) => (
                  <>
                    <Group gap={6}>
                      <Text size="sm" fw={500} className="break">
                        {email}
                      </Text>
                      {is_operator && <Badge>operator</Badge>}
                    </Group>
                    {!can_sign_in && <Note>cannot sign in yet</Note>}
                  </>
                ),
              },
              { title: 'Accounts', kind: 'number', cell: ({ accounts }) => count(accounts) },
              { title: 'Since', cell: ({ created_at }) => <TimeText at={created_at} /> },
              { title: 'Actions', kind: 'action', cell: (person) => <OperatorButton person={person} /> },
            ]}
          />
        )}
      </Loaded>
    </Section>
  )
}

function OperatorButton({ person }: { person: PersonInList }) {
  const queries = useQueryClient()
  const { id } = useSession().person
  const { email, is_operator: isOperator } = person
  const change = useMutation({
    mutationFn: (makes: boolean) =>
      request('PUT', `/api/operator/persons/${person.id}`, { body: { is_operator: makes } }),
    onSuccess: async (_answer, makes) => {
      notifyDone(makes ? `${email} is an operator` : `${email} is no operator now`)
      await queries.invalidateQueries({ queryKey: personsQuery.queryKey })
    },
    onError: (error) => notifyFailed(`${email} was not changed`, error),
  })
  // The server refuses it too: the last operator could lock everyone out.
  if (person.id === id) return <Badge variant="default">you</Badge>
  return (
    <RowButton
      label={isOperator ? 'End operator' : 'Make operator'}
      onClick={() => change.mutate(!isOperator)}
    />
  )
}
