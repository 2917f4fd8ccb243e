import { Button, Group, NativeSelect, Stack, Table, TextInput, VisuallyHidden } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { accountsQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useMe } from '../../api/session.ts'
import type { MadeLink } from '../../api/types.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Page } from '../../parts/page.tsx'
import { ShownOnce } from '../../parts/shown-once.tsx'
import { Loading, Refusal, Trouble } from '../../parts/states.tsx'
import { NotFound } from '../../shell/not-found.tsx'
import { AccountRow } from './account-row.tsx'

type Made = { title: string } & MadeLink

const WARNINGS: Record<MadeLink['mail'], string> = {
  off: 'Copy it now, and give it only to whom it is for: it is shown this once, and works once.',
  sent: 'It has been sent by mail. Copy it only if that does not arrive: it is shown this once, and works once.',
  failed:
    'It could not be sent by mail; the log says why. Copy it now, and give it only to whom it is for: it is shown this once, and works once.',
}

export function Accounts() {
  const me = useMe()
  return me.role === 'operator' ? <AccountList /> : <NotFound />
}

function AccountList() {
  const accounts = useQuery(accountsQuery)
  const [search, setSearch] = useState('')
  const [isInviting, setInviting] = useState(false)
  const [made, setMade] = useState<Made | null>(null)
  const found = (accounts.data?.accounts ?? []).filter(({ email }) =>
    email.includes(search.trim().toLowerCase()),
  )
  return (
    <Page
      title="Accounts"
      lead="Who uses this installation. You see and change accounts; you cannot sign in as somebody else, nor see what their pages hold."
      actions={
        <Button onClick={() => setInviting(true)} disabled={accounts.data === undefined}>
          Invite somebody
        </Button>
      }
    >
      {accounts.data === undefined ? (
        accounts.error === null ? (
          <Loading />
        ) : (
          <Trouble error={accounts.error} onRetry={() => accounts.refetch()} />
        )
      ) : (
        <Stack>
          <TextInput
            aria-label="Search by e-mail"
            placeholder="Search by e-mail"
            type="search"
            maw={360}
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
          />
          <div className="sheet sheet-flush scroll-x">
            <Table verticalSpacing="sm" horizontalSpacing="md" fz="sm" className="stacking">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Account</Table.Th>
                  <Table.Th>Plan</Table.Th>
                  <Table.Th className="end">Domains</Table.Th>
                  <Table.Th className="end">Renders this month</Table.Th>
                  <Table.Th>
                    <VisuallyHidden>Actions</VisuallyHidden>
                  </Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {found.map((account) => (
                  <AccountRow
                    key={account.id}
                    account={account}
                    plans={accounts.data.plans}
                    onMade={setMade}
                  />
                ))}
                {found.length === 0 && (
                  <Table.Tr>
                    <Table.Td colSpan={5} className="quiet">
                      No account has that in its e-mail.
                    </Table.Td>
                  </Table.Tr>
                )}
              </Table.Tbody>
            </Table>
          </div>
        </Stack>
      )}
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
          fields={[
            { label: `Link, until ${new Date(made.link.expires_at).toLocaleString()}`, value: made.link.url },
          ]}
          onClose={() => setMade(null)}
        />
      )}
    </Page>
  )
}

function Invite(props: { plans: readonly string[]; onClose: () => void; onMade: (made: Made) => void }) {
  const form = useForm({
    initialValues: { email: '', plan: props.plans[0] ?? '', role: 'owner' },
    validate: { email: (email) => (/^\S+@\S+$/.test(email.trim()) ? null : 'Enter an e-mail address') },
  })
  const invite = useMutation({
    mutationFn: ({ email, plan, role }: typeof form.values) =>
      request<MadeLink>('POST', '/api/operator/invitations', {
        body: { email: email.trim(), plan, role },
      }),
    onSuccess: (made, { email }) => props.onMade({ title: `An invitation for ${email.trim()}`, ...made }),
  })
  return (
    <Dialog title="Invite somebody" onClose={props.onClose}>
      <form noValidate onSubmit={form.onSubmit((values) => invite.mutate(values))}>
        <Stack>
          <TextInput label="E-mail" type="email" required data-autofocus {...form.getInputProps('email')} />
          <NativeSelect label="Plan" data={[...props.plans]} {...form.getInputProps('plan')} />
          <NativeSelect
            label="Role"
            data={[
              { value: 'owner', label: 'Owner of sites' },
              { value: 'operator', label: 'Operator: may see and change all accounts' },
            ]}
            {...form.getInputProps('role')}
          />
          <Refusal error={invite.error} />
          <Group justify="end">
            <Button variant="default" onClick={props.onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={invite.isPending}>
              Make the link
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
