import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SyntheticEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Token } from "../api/documents.ts";
import { http } from "../api/http.ts";
import { useTokens } from "../api/queries.ts";
import { when } from "../i18n/moments.ts";
import { Answer } from "../layout/Answer.tsx";
import { ProblemNote } from "../layout/ProblemNote.tsx";

const SCOPES = ["read", "propose", "decide", "admin"] as const;
const MAX_DAYS = 365;

/** The tokens by which programs come in: listed, made, revoked. */
export function Tokens() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const tokens = useTokens();
  const revoke = useMutation({
    mutationFn: (id: string) => http.delete(`/tokens/${id}`),
    onSuccess: () => client.invalidateQueries({ queryKey: ["tokens"] }),
  });
  return (
    <section>
      <h2>{t("settings.tokens")}</h2>
      <p className="quiet">{t("settings.tokensHow")}</p>
      <NewToken />
      <Answer of={tokens}>
        {() =>
          tokens.items.length === 0 ? (
            <p className="quiet">{t("settings.noTokens")}</p>
          ) : (
            <ul className="lines">
              {tokens.items.map((token) => (
                <li key={token.id} className="row">
                  <TokenLine token={token} />
                  {!token.revoked_at && (
                    <button
                      type="button"
                      aria-label={`${t("settings.revoke")}: ${token.name}`}
                      onClick={() => {
                        revoke.mutate(token.id);
                      }}
                    >
                      {t("settings.revoke")}
                    </button>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      <ProblemNote error={revoke.error} />
    </section>
  );
}

function TokenLine({ token }: { token: Token }) {
  const { t, i18n } = useTranslation();
  const moment = (at: string) => when(at, i18n.language);
  const used = token.last_used
    ? t("settings.used", { when: moment(token.last_used) })
    : t("settings.never");
  return (
    <span>
      <strong className="words">{token.name}</strong>{" "}
      <span className="quiet small">
        {token.scopes.map((scope) => t(`scope.${scope}`)).join(", ")} ·{" "}
        {token.expires_at && `${t("settings.expires", { when: moment(token.expires_at) })} · `}
        {token.revoked_at ? t("settings.revoked") : used}
      </span>
    </span>
  );
}

function NewToken() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [days, setDays] = useState("90");
  const [scopes, setScopes] = useState<readonly string[]>(["read"]);
  const create = useMutation({
    mutationFn: () => http.post<{ token: string }>("/tokens", { name, scopes, days: Number(days) }),
    onSuccess: () => {
      setName("");
      return client.invalidateQueries({ queryKey: ["tokens"] });
    },
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <form className="token-form" onSubmit={submit}>
      <label>
        {t("settings.name")}{" "}
        <input
          required
          maxLength={100}
          value={name}
          onChange={(event) => {
            setName(event.target.value);
          }}
        />
      </label>
      <label>
        {t("settings.days")}{" "}
        <input
          type="number"
          required
          min={1}
          max={MAX_DAYS}
          value={days}
          onChange={(event) => {
            setDays(event.target.value);
          }}
        />
      </label>
      <fieldset className="row">
        <legend>{t("settings.scopes")}</legend>
        {SCOPES.map((scope) => (
          <label key={scope}>
            <input
              type="checkbox"
              checked={scopes.includes(scope)}
              onChange={(event) => {
                const others = scopes.filter((each) => each !== scope);
                setScopes(event.target.checked ? [...others, scope] : others);
              }}
            />{" "}
            {t(`scope.${scope}`)}
          </label>
        ))}
      </fieldset>
      <button type="submit" disabled={create.isPending || scopes.length === 0}>
        {t("settings.create")}
      </button>
      <ProblemNote error={create.error} />
      {create.data && (
        <p className="notice" role="status">
          {t("settings.copy")} <code className="secret">{create.data.token}</code>
        </p>
      )}
    </form>
  );
}
