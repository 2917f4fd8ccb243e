import { Alert, Button, Group, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery } from '@tanstack/react-query'

import { domainUrl, tokensQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useMe } from '../../api/session.ts'
import type { DomainWithSettings } from '../../api/types.ts'
import { Form, type Sent } from '../../parts/form.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Secrets } from '../../parts/secrets.tsx'
import { Refusal } from '../../parts/states.tsx'

const MAX_TOKENS = 5

export function WebhookTokens({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const { webhooks } = useMe().plan
  const tokens = useQuery(tokensQuery(name))
  const create = useMutation({
    mutationFn: (body: { name: string }) =>
      request<{ name: string; token: string }>('POST', `${domainUrl(name)}/tokens`, { body }),
    onSuccess: () => tokens.refetch(),
  })
  const active = tokens.data?.filter(({ state }) => state === 'active').length ?? 0
  return (
    <Section
      title="Webhook tokens"
      lead="A deploy can use a token to refresh pages of this domain, and for nothing else. At most 10 requests an hour."
    >
      {webhooks ? (
        <NewToken create={create} isFull={active >= MAX_TOKENS} />
      ) : (
        <Alert color="yellow" title="Your plan has no webhooks">
          Existing tokens do not work, and you cannot create new ones. Ask the operator for a plan with
          webhooks.
        </Alert>
      )}
      <Secrets
        noun="token"
        secrets={tokens}
        empty="Create one for the program that publishes your site. Tokens and their last use are listed here."
        api="/api/tokens"
        effect="the program that uses it can no longer refresh pages"
        created={create.data === undefined ? null : shownOnce(create.data)}
        onSeen={create.reset}
      />
    </Section>
  )
}

function shownOnce({ name, token }: { name: string; token: string }) {
  const command = [
    `curl -X POST ${location.origin}/api/webhook/refresh \\`,
    `  -H 'Authorization: Bearer ${token}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"urls": ["/", "/about"]}'`,
  ].join('\n')
  return { name, secret: token, command: { label: 'Refresh two pages with it', value: command } }
}

type Create = Sent & {
  mutate: (body: { name: string }, options: { onSuccess: () => void }) => void
}

function NewToken({ create, isFull }: { create: Create; isFull: boolean }) {
  const form = useForm({
    initialValues: { name: '' },
    validate: { name: (text) => (text.trim() === '' ? 'Name what will use it, such as "deploy"' : null) },
  })
  const submit = ({ name }: { name: string }) =>
    create.mutate({ name: name.trim() }, { onSuccess: form.reset })
  return (
    <Form sent={create} onSubmit={form.onSubmit(submit)}>
      <Stack gap="xs">
        <Group align="start">
          <TextInput
            aria-label="Name of the new token"
            placeholder="Name, such as deploy"
            autoComplete="off"
            flex={1}
            miw={220}
            maw={320}
            {...form.getInputProps('name')}
          />
          <Button type="submit" loading={create.isPending} disabled={isFull}>
            Create a token
          </Button>
        </Group>
        {isFull && (
          <Note size="sm">A domain can have {MAX_TOKENS} active tokens. Revoke one to create another.</Note>
        )}
        <Refusal error={create.error} />
      </Stack>
    </Form>
  )
}
