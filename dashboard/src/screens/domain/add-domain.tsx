import { Button, Group, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { domainsQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { Domain } from '../../api/types.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Refusal } from '../../parts/states.tsx'
import { domainPath } from '../../route-map.ts'
import { DnsInstructions } from './dns.tsx'
import { useDomainCheck } from './domain-check.ts'
import { domainProblem, originProblem } from './domain-fields.ts'
import { FieldFinding } from './field-finding.tsx'

/** Two fields, checked as one types; then what record to set, and whether it is. */
export function AddDomain({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const form = useForm({
    initialValues: { name: '', origin: '' },
    validateInputOnBlur: true,
    validate: {
      name: domainProblem,
      origin: (origin, { name }) => originProblem(origin, name),
    },
  })
  const add = useMutation({
    mutationFn: ({ name, origin }: typeof form.values) =>
      request<{ domain: Domain }>('POST', '/api/domains', {
        body: { custom_domain: name.trim(), origin_url: origin.trim() },
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: domainsQuery.queryKey }),
  })

  const nameCheck = useDomainCheck(
    'custom_domain',
    form.values.name,
    domainProblem(form.values.name) === null,
  )
  const originCheck = useDomainCheck(
    'origin_url',
    form.values.origin,
    originProblem(form.values.origin, form.values.name) === null,
  )

  if (add.data !== undefined) {
    const { custom_domain: name } = add.data.domain
    return (
      <Dialog title={`${name} is registered`} onClose={onClose}>
        <Stack>
          <DnsInstructions domain={name} />
          <Group justify="end">
            <Button onClick={() => navigate(domainPath('domain', name))} data-autofocus>
              Go to the domain
            </Button>
          </Group>
        </Stack>
      </Dialog>
    )
  }
  return (
    <Dialog title="Add a domain" onClose={onClose}>
      <form noValidate onSubmit={form.onSubmit((values) => add.mutate(values))}>
        <Stack>
          <TextInput
            label="Domain"
            description="The name that visitors use"
            placeholder="www.example.com"
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            required
            data-autofocus
            {...form.getInputProps('name')}
          />
          <FieldFinding {...nameCheck} />
          <TextInput
            label="Origin"
            description="Where the site itself runs: under a name that will go on leading there"
            placeholder="https://shop.hosting.example"
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            required
            {...form.getInputProps('origin')}
          />
          <FieldFinding {...originCheck} />
          <Refusal error={add.error} />
          <Group justify="end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={add.isPending}>
              Add the domain
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
