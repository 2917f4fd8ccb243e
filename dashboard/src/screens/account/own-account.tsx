import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { downloadFile } from '../../api/download.ts'
import { ownAccountQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useRights } from '../../api/rights.ts'
import { sessionQuery } from '../../api/session.ts'
import type { OwnAccount } from '../../api/types.ts'
import { exactTime } from '../../format.ts'
import { FormDialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { May } from '../../parts/may.tsx'
import { notifyDone, notifyFailed } from '../../parts/notifications.tsx'
import { Section } from '../../parts/page.tsx'
import { Loaded, Refusal } from '../../parts/states.tsx'
import { AccountPolicy } from './account-policy.tsx'
import { emailProblem } from './email-field.tsx'

const Branding = lazy(() => import('./branding.tsx'))

/** What admins and owners do with the whole account: rename, brand, secure, export, delete. */
export default function OwnAccountSections() {
  const may = useRights()
  const account = useQuery({ ...ownAccountQuery, enabled: may('changeAccount') })
  if (!may('changeAccount')) return null
  return (
    <Loaded query={account}>
      {(shown) => (
        <>
          <Names key={`${shown.name} ${shown.email}`} account={shown} />
          <May action="changeBranding">
            <Suspense fallback={null}>
              <Branding account={shown.name} />
            </Suspense>
          </May>
          <May action="updatePolicy">
            <AccountPolicy key={JSON.stringify(shown.policy)} policy={shown.policy} />
          </May>
          <May action="requestDeletion">
            <Leave account={shown} />
          </May>
        </>
      )}
    </Loaded>
  )
}

function Names({ account }: { account: OwnAccount }) {
  const isOwner = useRights()('requestDeletion')
  const queries = useQueryClient()
  const form = useForm({
    initialValues: { name: account.name, email: account.email },
    validate: {
      name: (name) => (name.trim() === '' ? 'Enter a name' : null),
      email: emailProblem,
    },
  })
  const save = useMutation({
    mutationFn: ({ name, email }: typeof form.values) => {
      const body: { name: string; email?: string } = { name: name.trim() }
      if (isOwner) body.email = email.trim()
      return request('PUT', '/api/account', { body })
    },
    onSuccess: async () => {
      notifyDone('The account was changed')
      await queries.invalidateQueries({ queryKey: ownAccountQuery.queryKey })
      await queries.invalidateQueries({ queryKey: sessionQuery.queryKey })
    },
  })
  return (
    <Section title="Name and contact" lead="Members see the name. Commands of the operator use the address.">
      <Form sent={save} onSubmit={form.onSubmit((values) => save.mutate(values))}>
        <Stack>
          <TextInput label="Account name" required {...form.getInputProps('name')} />
          <TextInput
            label="Contact address"
            type="email"
            required
            disabled={!isOwner}
            description={isOwner ? undefined : 'Only owners change it.'}
            {...form.getInputProps('email')}
          />
          <Refusal error={save.error} />
          <Group>
            <Button type="submit" loading={save.isPending} disabled={!form.isDirty()}>
              Save
            </Button>
          </Group>
        </Stack>
      </Form>
    </Section>
  )
}

function Leave({ account }: { account: OwnAccount }) {
  const queries = useQueryClient()
  const [isDeleting, setDeleting] = useState(false)
  const reread = () => queries.invalidateQueries({ queryKey: ownAccountQuery.queryKey })
  const download = useMutation({
    mutationFn: () => downloadFile('/api/account/export'),
    onError: (error) => notifyFailed('The file could not be downloaded', error),
  })
  const cancel = useMutation({
    mutationFn: () => request('DELETE', '/api/account/deletion'),
    onSuccess: () => {
      notifyDone('The account stays')
      return reread()
    },
    onError: (error) => notifyFailed('The deletion was not cancelled', error),
  })
  return (
    <Section
      title="Export and delete"
      lead="The export has everything but pages and secrets. A deletion takes effect after 7 days."
    >
      {account.deletion !== null && (
        <Alert
          color="red"
          title={`This account will be deleted at ${exactTime(account.deletion.deletes_at)}`}
        >
          <Group justify="space-between">
            <Text size="sm">Until then everything goes on.</Text>
            <Button variant="default" size="xs" loading={cancel.isPending} onClick={() => cancel.mutate()}>
              Keep the account
            </Button>
          </Group>
        </Alert>
      )}
      <Group>
        <Button variant="default" loading={download.isPending} onClick={() => download.mutate()}>
          Export the account
        </Button>
        {account.deletion === null && (
          <Button variant="default" onClick={() => setDeleting(true)}>
            Delete the account
          </Button>
        )}
      </Group>
      {isDeleting && (
        <DeleteDialog
          account={account}
          onClose={() => setDeleting(false)}
          onDone={() => {
            setDeleting(false)
            void reread()
          }}
        />
      )}
    </Section>
  )
}

function DeleteDialog(props: { account: OwnAccount; onClose: () => void; onDone: () => void }) {
  const { account, onClose, onDone } = props
  const form = useForm({
    initialValues: { name: '' },
    validate: { name: (name) => (name === account.name ? null : 'This is not the name of the account') },
  })
  const send = useMutation({
    mutationFn: (body: typeof form.values) => request('POST', '/api/account/deletion', { body }),
    onSuccess: onDone,
  })
  return (
    <FormDialog
      title="Delete the account?"
      label="Delete in 7 days"
      sent={send}
      onSubmit={form.onSubmit((values) => send.mutate(values))}
      onClose={onClose}
    >
      <Text size="sm">
        In 7 days its domains, cached pages, keys, figures and audit log are deleted, and members who are in
        no other account. Until then an owner can cancel it.
      </Text>
      <TextInput
        label={`Type the name of the account: ${account.name}`}
        autoComplete="off"
        required
        data-autofocus
        {...form.getInputProps('name')}
      />
    </FormDialog>
  )
}
