import { Checkbox, NativeSelect, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { LIMITED_ROLES, ROLES, type Role } from '@prepaint/contract/roles.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { invitationsQuery, membersQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useMe } from '../../api/session.ts'
import type { InvitedMember, Member } from '../../api/types.ts'
import { FormDialog } from '../../parts/dialog.tsx'
import { notifyDone } from '../../parts/notifications.tsx'
import { DomainChoice } from './domain-choice.tsx'
import { emailProblem } from './email-field.tsx'

const MEANS: Record<Role, string> = {
  client: 'sees traffic, cached pages, incidents and reports of named domains',
  viewer: 'sees everything, changes nothing',
  editor: 'changes domains and what is cached',
  admin: 'also deletes domains and manages keys and members',
  owner: 'may do everything',
}

/** Invites a person (`member` null), or changes what a member may do. */
export default function GrantDialog(props: {
  member: Member | null
  onClose: () => void
  onInvited: (invited: InvitedMember) => void
}) {
  const { member, onClose, onInvited } = props
  const queries = useQueryClient()
  const me = useMe()
  const form = useForm({
    initialValues: {
      email: member?.email ?? '',
      role: member?.role ?? ('' as Role | ''),
      isLimited: (member?.domains ?? null) !== null,
      domains: member?.domains ?? [],
    },
    validate: {
      email: emailProblem,
      role: (role) => (role === '' ? 'Choose a role' : null),
      domains: (domains, { role, isLimited }) =>
        isWithin(role, isLimited) && domains.length === 0 ? 'Choose at least one domain' : null,
    },
  })
  const { role, isLimited, domains } = form.values
  const send = useMutation({
    mutationFn: (values: typeof form.values) => {
      const grant = {
        role: values.role,
        domains: isWithin(values.role, values.isLimited) ? values.domains : null,
      }
      if (member !== null) return request('PUT', `/api/members/${member.id}`, { body: grant })
      return request<InvitedMember>('POST', '/api/invitations', {
        body: { email: values.email.trim(), ...grant },
      })
    },
    onSuccess: async (answer) => {
      if (member === null) onInvited(answer as InvitedMember)
      else {
        notifyDone(`${member.email} is now ${form.values.role}`)
        onClose()
      }
      await queries.invalidateQueries({ queryKey: membersQuery.queryKey })
      await queries.invalidateQueries({ queryKey: invitationsQuery.queryKey })
    },
  })
  const offered = ROLES.filter((each) => each !== 'owner' || me.role === 'owner')
  return (
    <FormDialog
      title={member === null ? 'Invite a person' : `Role of ${member.email}`}
      label={member === null ? 'Invite' : 'Save'}
      sent={send}
      onSubmit={form.onSubmit((values) => send.mutate(values))}
      onClose={onClose}
    >
      {member === null && (
        <TextInput label="E-mail" type="email" required data-autofocus {...form.getInputProps('email')} />
      )}
      <NativeSelect
        label="Role"
        data={[
          ...(member === null ? [{ value: '', label: 'Choose a role' }] : []),
          ...offered.map((value) => ({ value, label: `${value}: ${MEANS[value]}` })),
        ]}
        {...form.getInputProps('role')}
      />
      {mayBeLimited(role) && role !== 'client' && (
        <Checkbox
          label="Only named domains"
          checked={isLimited}
          onChange={(event) => form.setFieldValue('isLimited', event.currentTarget.checked)}
        />
      )}
      {isWithin(role, isLimited) && (
        <DomainChoice
          chosen={domains}
          error={form.errors['domains'] as string | undefined}
          onChange={(chosen) => form.setFieldValue('domains', chosen)}
        />
      )}
    </FormDialog>
  )
}

/** Whether the role has domains by name. A client always has. */
function isWithin(role: Role | '', isLimited: boolean): boolean {
  return role === 'client' || (isLimited && mayBeLimited(role))
}

function mayBeLimited(role: Role | ''): boolean {
  return role !== '' && LIMITED_ROLES.includes(role)
}
