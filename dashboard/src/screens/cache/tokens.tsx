import { Alert, Button, Group, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { domainUrl, tokensQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useMe } from '../../api/session.ts'
import type { DomainWithSettings, WebhookToken } from '../../api/types.ts'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { Section } from '../../parts/page.tsx'
import { SecretList } from '../../parts/secret-list.tsx'
import { ShownOnce } from '../../parts/shown-once.tsx'
import { Empty, Loading, Refusal, Trouble } from '../../parts/states.tsx'

/** How many tokens of a domain may work at a time. */
const TOKENS_MOST = 5

export function DomainTokens({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const { webhooks } = useMe().plan
  const queries = useQueryClient()
  const query = tokensQuery(name)
  const tokens = useQuery(query)
  const [revoking, setRevoking] = useState<WebhookToken | null>(null)
  const form = useForm({
    initialValues: { name: '' },
    validate: { name: (text) => (text.trim() === '' ? 'Say what will use it, such as "deploy"' : null) },
  })
  const create = useMutation({
    mutationFn: (values: { name: string }) =>
      request<{ name: string; token: string }>('POST', `${domainUrl(name)}/tokens`, {
        body: { name: values.name.trim() },
      }),
    onSuccess: async () => {
      form.reset()
      await queries.invalidateQueries({ queryKey: query.queryKey })
    },
  })
  const active = tokens.data?.filter(({ state }) => state === 'active').length ?? 0

  return (
    <Section
      title="Webhook tokens"
      lead="With one of them a deploy refreshes pages of this domain, and can do nothing else. At most 10 requests an hour."
    >
      {!webhooks && (
        <Alert color="yellow" title="Your plan has no webhooks">
          Tokens that exist do not work, and none can be created. Ask the operator for a plan that has them.
        </Alert>
      )}
      {webhooks && (
        <form noValidate onSubmit={form.onSubmit((values) => create.mutate(values))}>
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
            <Button type="submit" loading={create.isPending} disabled={active >= TOKENS_MOST}>
              Create a token
            </Button>
          </Group>
          {active >= TOKENS_MOST && (
            <Text size="sm" className="quiet" mt="xs">
              {TOKENS_MOST} are in use, which is as many as a domain may have. Revoke one first.
            </Text>
          )}
        </form>
      )}
      <Refusal error={create.error} />
      {tokens.data === undefined ? (
        tokens.error === null ? (
          <Loading rows={2} />
        ) : (
          <Trouble error={tokens.error} onRetry={() => tokens.refetch()} />
        )
      ) : tokens.data.length === 0 ? (
        <Empty title="No token yet">Create one for whatever publishes your site.</Empty>
      ) : (
        <SecretList secrets={tokens.data} onRevoke={setRevoking} />
      )}
      {create.data !== undefined && (
        <ShownOnce
          title={`Token ${create.data.name}`}
          onClose={create.reset}
          fields={[
            { label: 'Token', value: create.data.token },
            {
              label: 'Refresh two pages with it',
              value: [
                `curl -X POST ${location.origin}/api/webhook/refresh \\`,
                `  -H 'Authorization: Bearer ${create.data.token}' \\`,
                `  -H 'Content-Type: application/json' \\`,
                `  -d '{"urls": ["/", "/about"]}'`,
              ].join('\n'),
            },
          ]}
        />
      )}
      {revoking !== null && (
        <ConfirmDialog
          title={`Revoke ${revoking.name}?`}
          label="Revoke"
          onClose={() => setRevoking(null)}
          run={async () => {
            await request('DELETE', `/api/tokens/${revoking.id}`)
            await queries.invalidateQueries({ queryKey: query.queryKey })
          }}
        >
          <Text size="sm">
            The next request with it is refused, so whatever uses it no longer refreshes pages. This cannot be
            undone.
          </Text>
        </ConfirmDialog>
      )}
    </Section>
  )
}
