import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { type Location, Navigate, useLocation, useNavigate } from "react-router";
import type { Me } from "../api/documents.ts";
import { http } from "../api/http.ts";
import { meQuery } from "../api/queries.ts";
import { ProblemNote } from "../layout/ProblemNote.tsx";
import { hasDrafts } from "../layout/drafts.ts";
import { forgetRead } from "../layout/session.ts";
import { useTitle } from "../layout/use_title.ts";

/**
 * Signs in with the link that the server printed, and leads back to where a session ended.
 *
 * The secret stands behind the `#`, which browsers send to nobody; it is taken out of the address.
 * A link that was opened in another tab signs in this one too, as soon as it is looked at.
 */
export function SignIn() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const client = useQueryClient();
  useTitle(t("signIn.title"));
  const [link] = useState(secretOf);
  const me = useQuery({ ...meQuery, enabled: link === "", refetchOnWindowFocus: "always" });
  const from = placeBefore(useLocation());
  const { mutate, isPending, error } = useMutation({
    mutationFn: (secret: string) => http.post<Me>("/session", { link: secret }),
    onSuccess: (me) => {
      http.me = me;
      client.setQueryData(meQuery.queryKey, me);
      void navigate("/", { replace: true });
    },
  });
  useEffect(() => {
    forgetRead(client);
  }, [client]);
  useEffect(() => {
    if (link === "") return;
    window.history.replaceState(null, "", window.location.pathname);
    mutate(link);
  }, [link, mutate]);
  if (me.data && link === "") return <Navigate to={from} replace />;
  return (
    <main className="sign-in">
      <h1>Alfred</h1>
      <p>{isPending ? t("signIn.working") : t("signIn.how")}</p>
      {hasDrafts() && <p>{t("signIn.kept")}</p>}
      <ProblemNote error={error} />
      {error && <p>{t("signIn.again")}</p>}
    </main>
  );
}

/** Give the page on which a session ended, else the inbox. */
function placeBefore({ state }: Location): string {
  const from = (state as { from?: Location } | null)?.from;
  return from ? from.pathname + from.search + from.hash : "/";
}

function secretOf(): string {
  const given = window.location.hash.slice(1);
  return new URLSearchParams(given).get("link") ?? given;
}
